"""A table like ClickBench's `hits`, of made-up rows, its policy with a user as the unit, and the 43 questions.

The names and kinds of the columns are those that are publicly known, and only the columns that questions use are there.
The rows are made up: users and pages follow a power law, and a few users have many rows. Sizes of groups, and so
errors, are not those of the real data.
"""

from pathlib import Path

import duckdb

__all__ = ["POLICY", "QUESTIONS", "made"]

HEAD = """
[dataset]
name = "hits"
source = "."
ledger = "hits.ledger"

[privacy]
unit = "user"
currency = "rho"
budget = 1000000
delta = 1e-7

[analysts."*"]

[tables.hits]
unit_column = "UserID"
clip_rows = 100
"""
FLAG = 'type = "integer"\nbounds = [0, 1]\nnullable = false'
KEY, TEXT = 'type = "integer"', 'type = "text"'


def _whole(low: int, high: int) -> str:
    return f'type = "integer"\nbounds = [{low}, {high}]\nnullable = false'


COLUMNS = {
    "WatchID": KEY, "UserID": KEY, "CounterID": KEY, "ClientIP": KEY,
    "EventTime": 'type = "timestamp"\nbounds = [2013-07-01T00:00:00, 2013-07-31T23:59:59]',
    "EventDate": 'type = "date"\nbounds = [2013-07-01, 2013-07-31]\nnullable = false',
    "RegionID": _whole(0, 5000), "AdvEngineID": _whole(0, 60), "ResolutionWidth": _whole(0, 4000),
    "SearchEngineID": _whole(0, 100), "MobilePhone": _whole(0, 100), "TraficSourceID": _whole(-1, 10),
    "WindowClientWidth": _whole(0, 4000), "WindowClientHeight": _whole(0, 4000), "IsRefresh": FLAG, "IsLink": FLAG,
    "IsDownload": FLAG, "DontCountHits": FLAG, "RefererHash": KEY, "URLHash": KEY, "SearchPhrase": TEXT, "URL": TEXT,
    "Title": TEXT, "Referer": TEXT, "MobilePhoneModel": TEXT,
}  # fmt: skip
POLICY = HEAD + "".join(f"\n[tables.hits.columns.{name}]\n{said}\n" for name, said in COLUMNS.items())

MADE = """
CREATE MACRO h(x, n) AS CAST(hash(x, n) >> 1 AS BIGINT);
COPY (
    WITH drawn AS (
        SELECT i, h(i, 1) % 1000003 / 1000003.0 AS a, h(i, 2) % 1000003 / 1000003.0 AS b,
            h(i, 3) % 1000003 / 1000003.0 AS c, h(i, 4) AS d, h(i, 5) AS e FROM range({rows}) AS t(i)
    ),
    placed AS (
        SELECT *, CAST({users} * pow(a, 1.3) AS BIGINT) AS who, CAST(20000 * pow(b, 4) AS INTEGER) AS page,
            CAST(6000 * pow(c, 6) AS INTEGER) AS site FROM drawn
    )
    SELECT h(i, 6) AS WatchID, h(who, 0) AS UserID,
        TIMESTAMP '2013-07-01 00:00:00' + to_seconds(CAST(d % 2678400 AS INTEGER)) AS EventTime,
        CAST(TIMESTAMP '2013-07-01 00:00:00' + to_seconds(CAST(d % 2678400 AS INTEGER)) AS DATE) AS EventDate,
        CAST(IF(site = 0, 62, site) AS INTEGER) AS CounterID, CAST(h(who, 7) % 2147483647 AS INTEGER) AS ClientIP,
        CAST(pow(h(who, 8) % 1000 / 1000.0, 3) * 4000 AS INTEGER) AS RegionID,
        CAST(IF(e % 50 = 0, 1 + e % 19, 0) AS SMALLINT) AS AdvEngineID,
        CAST([1024, 1280, 1366, 1920, 1638][1 + h(who, 9) % 5] AS SMALLINT) AS ResolutionWidth,
        CAST(IF(e % 8 = 0, 2 + e % 30, 0) AS SMALLINT) AS SearchEngineID,
        CAST(h(who, 10) % 20 AS SMALLINT) AS MobilePhone,
        CAST(d % 8 - 1 AS SMALLINT) AS TraficSourceID, CAST(h(who, 11) % 2000 AS SMALLINT) AS WindowClientWidth,
        CAST(h(who, 12) % 1200 AS SMALLINT) AS WindowClientHeight, CAST(e % 7 = 0 AS SMALLINT) AS IsRefresh,
        CAST(e % 11 = 0 AS SMALLINT) AS IsLink, CAST(e % 97 = 0 AS SMALLINT) AS IsDownload,
        CAST(e % 13 = 0 AS SMALLINT) AS DontCountHits, h(page, 13) AS RefererHash,
        h(page, 14) AS URLHash, IF(e % 8 = 0, 'phrase ' || (page % 5000), '') AS SearchPhrase,
        'http://site' || site || '.example/' || IF(page % 40 = 0, 'google', 'page') || page AS URL,
        'Title ' || page || IF(page % 60 = 0, ' Google', '') AS Title,
        IF(d % 3 = 0, '', 'http://www.from' || (page % 900) || '.example/' || page) AS Referer,
        IF(e % 20 = 0, 'model ' || (h(who, 15) % 60), '') AS MobilePhoneModel
    FROM placed
) TO '{path}' (FORMAT parquet)
"""
PAGES = "FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31'"
WIDTHS = ", ".join(f"SUM(ResolutionWidth + {i})" if i else "SUM(ResolutionWidth)" for i in range(90))
QUESTIONS = (
    "SELECT COUNT(*) FROM hits",
    "SELECT COUNT(*) FROM hits WHERE AdvEngineID <> 0",
    "SELECT SUM(AdvEngineID), COUNT(*), AVG(ResolutionWidth) FROM hits",
    "SELECT AVG(UserID) FROM hits",
    "SELECT COUNT(DISTINCT UserID) FROM hits",
    "SELECT COUNT(DISTINCT SearchPhrase) FROM hits",
    "SELECT MIN(EventDate), MAX(EventDate) FROM hits",
    "SELECT AdvEngineID, COUNT(*) FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY COUNT(*) DESC",
    "SELECT RegionID, COUNT(DISTINCT UserID) AS u FROM hits GROUP BY RegionID ORDER BY u DESC LIMIT 10",
    "SELECT RegionID, SUM(AdvEngineID), COUNT(*) AS c, AVG(ResolutionWidth), COUNT(DISTINCT UserID) FROM hits "
    "GROUP BY RegionID ORDER BY c DESC LIMIT 10",
    "SELECT MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' "
    "GROUP BY MobilePhoneModel ORDER BY u DESC LIMIT 10",
    "SELECT MobilePhone, MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' "
    "GROUP BY MobilePhone, MobilePhoneModel ORDER BY u DESC LIMIT 10",
    "SELECT SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase "
    "ORDER BY c DESC LIMIT 10",
    "SELECT SearchPhrase, COUNT(DISTINCT UserID) AS u FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase "
    "ORDER BY u DESC LIMIT 10",
    "SELECT SearchEngineID, SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' "
    "GROUP BY SearchEngineID, SearchPhrase ORDER BY c DESC LIMIT 10",
    "SELECT UserID, COUNT(*) FROM hits GROUP BY UserID ORDER BY COUNT(*) DESC LIMIT 10",
    "SELECT UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase ORDER BY COUNT(*) DESC LIMIT 10",
    "SELECT UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase LIMIT 10",
    "SELECT UserID, extract(minute FROM EventTime) AS m, SearchPhrase, COUNT(*) FROM hits "
    "GROUP BY UserID, m, SearchPhrase ORDER BY COUNT(*) DESC LIMIT 10",
    "SELECT UserID FROM hits WHERE UserID = 435090932899640449",
    "SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%'",
    "SELECT SearchPhrase, MIN(URL), COUNT(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> '' "
    "GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10",
    "SELECT SearchPhrase, MIN(URL), MIN(Title), COUNT(*) AS c, COUNT(DISTINCT UserID) FROM hits "
    "WHERE Title LIKE '%Google%' AND URL NOT LIKE '%.google.%' AND SearchPhrase <> '' GROUP BY SearchPhrase "
    "ORDER BY c DESC LIMIT 10",
    "SELECT * FROM hits WHERE URL LIKE '%google%' ORDER BY EventTime LIMIT 10",
    "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime LIMIT 10",
    "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY SearchPhrase LIMIT 10",
    "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime, SearchPhrase LIMIT 10",
    "SELECT CounterID, AVG(LENGTH(URL)) AS l, COUNT(*) AS c FROM hits WHERE URL <> '' GROUP BY CounterID "
    "HAVING COUNT(*) > 100000 ORDER BY l DESC LIMIT 25",
    r"SELECT REGEXP_REPLACE(Referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, AVG(LENGTH(Referer)) AS l, "
    "COUNT(*) AS c, MIN(Referer) FROM hits WHERE Referer <> '' GROUP BY k HAVING COUNT(*) > 100000 "
    "ORDER BY l DESC LIMIT 25",
    f"SELECT {WIDTHS} FROM hits",
    "SELECT SearchEngineID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits "
    "WHERE SearchPhrase <> '' GROUP BY SearchEngineID, ClientIP ORDER BY c DESC LIMIT 10",
    "SELECT WatchID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits WHERE SearchPhrase <> '' "
    "GROUP BY WatchID, ClientIP ORDER BY c DESC LIMIT 10",
    "SELECT WatchID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits "
    "GROUP BY WatchID, ClientIP ORDER BY c DESC LIMIT 10",
    "SELECT URL, COUNT(*) AS c FROM hits GROUP BY URL ORDER BY c DESC LIMIT 10",
    "SELECT 1, URL, COUNT(*) AS c FROM hits GROUP BY 1, URL ORDER BY c DESC LIMIT 10",
    "SELECT ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3, COUNT(*) AS c FROM hits "
    "GROUP BY ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3 ORDER BY c DESC LIMIT 10",
    f"SELECT URL, COUNT(*) AS PageViews {PAGES} AND DontCountHits = 0 AND IsRefresh = 0 AND URL <> '' "
    "GROUP BY URL ORDER BY PageViews DESC LIMIT 10",
    f"SELECT Title, COUNT(*) AS PageViews {PAGES} AND DontCountHits = 0 AND IsRefresh = 0 AND Title <> '' "
    "GROUP BY Title ORDER BY PageViews DESC LIMIT 10",
    f"SELECT URL, COUNT(*) AS PageViews {PAGES} AND IsRefresh = 0 AND IsLink <> 0 AND IsDownload = 0 GROUP BY URL "
    "ORDER BY PageViews DESC LIMIT 10 OFFSET 1000",
    "SELECT TraficSourceID, SearchEngineID, AdvEngineID, CASE WHEN (SearchEngineID = 0 AND AdvEngineID = 0) "
    f"THEN Referer ELSE '' END AS Src, URL AS Dst, COUNT(*) AS PageViews {PAGES} AND IsRefresh = 0 "
    "GROUP BY TraficSourceID, SearchEngineID, AdvEngineID, Src, Dst ORDER BY PageViews DESC LIMIT 10 OFFSET 1000",
    f"SELECT URLHash, EventDate, COUNT(*) AS PageViews {PAGES} AND IsRefresh = 0 AND TraficSourceID IN (-1, 6) "
    "AND RefererHash = 3594120000172545465 GROUP BY URLHash, EventDate ORDER BY PageViews DESC LIMIT 10 OFFSET 100",
    f"SELECT WindowClientWidth, WindowClientHeight, COUNT(*) AS PageViews {PAGES} AND IsRefresh = 0 "
    "AND DontCountHits = 0 AND URLHash = 2868770270353813622 GROUP BY WindowClientWidth, WindowClientHeight "
    "ORDER BY PageViews DESC LIMIT 10 OFFSET 10000",
    "SELECT DATE_TRUNC('minute', EventTime) AS M, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 "
    "AND EventDate >= '2013-07-14' AND EventDate <= '2013-07-15' AND IsRefresh = 0 AND DontCountHits = 0 "
    "GROUP BY DATE_TRUNC('minute', EventTime) ORDER BY DATE_TRUNC('minute', EventTime) LIMIT 10 OFFSET 1000",
)


def made(folder: Path, rows: int) -> Path:
    """A folder with the table as Parquet and its policy; made once."""
    place = folder / f"hits{rows}"
    path = place / "hits.parquet"
    if not path.exists():
        place.mkdir(parents=True, exist_ok=True)
        with duckdb.connect() as connection:
            connection.execute(MADE.format(rows=rows, users=max(rows // 10, 1), path=path))
    (place / "tacit.toml").write_text(POLICY)
    return place
