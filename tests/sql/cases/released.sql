-- name: a filter of released groups
SELECT ward, n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) WHERE n > 100 ORDER BY n DESC LIMIT 2;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "n" = count1
-- > after page limit 2
-- >     project
-- >       ward = ward_2 [text?]
-- >       n = n_2 [integer?]
-- >       page n_2 descending, nulls last
-- >         filter (n_2 > 100)
-- >           answer 1
-- >             ward_2 = "ward"
-- >             n_2 = "n"

-- name: two answers joined on their keys
WITH a AS (SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward), b AS (SELECT ward, COUNT(*) AS m FROM visits WHERE urgent GROUP BY ward) SELECT a.ward, 100.0 * m / n AS share FROM a LEFT JOIN b ON a.ward = b.ward;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "n" = count1
-- > beside 2
-- >   from filter urgent_3
-- >       scan "visits" (unit unit_3)
-- >         ward_3 [text of 3?]
-- >         urgent_3 [boolean of 2?]
-- >   key q2_key1 = ward_3 [text of 3?]
-- >   aggregate q2_count1 = count(*)
-- >   output "ward" = q2_key1
-- >   output "m" = q2_count1
-- > after project
-- >     ward = ward_2 [text?]
-- >     share = ((m_4 * 100) / n_2) [number?]
-- >     left join once on ward_2 = ward_4
-- >       answer 1
-- >         ward_2 = "ward"
-- >         n_2 = "n"
-- >         c_2 = "c"
-- >       answer 2
-- >         ward_4 = "ward"
-- >         m_4 = "m"

-- name: an answer used twice is measured once
WITH t AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward), s AS (SELECT SUM(n) AS total FROM t) SELECT ward, n / total AS share FROM t CROSS JOIN s;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "n" = count1
-- > after project
-- >     ward = ward_2 [text?]
-- >     share = (n_2 / total_5) [number?]
-- >     inner join once on 
-- >       answer 1
-- >         ward_2 = "ward"
-- >         n_2 = "n"
-- >       project
-- >         total_5 = total1_5 [integer?]
-- >         totals
-- >           total1_5 = sum(n_4)
-- >           answer 1
-- >             ward_4 = "ward"
-- >             n_4 = "n"

-- name: windows over aggregates
SELECT ward, COUNT(*) AS n, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM visits GROUP BY ward QUALIFY place <= 3;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "key1" = key1
-- > output "count1" = count1
-- > after project
-- >     ward = key1 [text of 3?]
-- >     n = count1 [integer]
-- >     share = ((count1 * 100) / window1) [number?]
-- >     place = window2 [integer 0..]
-- >     filter (window2 <= 3)
-- >       windows
-- >         window1 = sum(count1) []
-- >         window2 = rank() [order count1 descending, nulls last]
-- >         answer 1
-- >           key1 = "key1"
-- >           count1 = "count1"

-- name: windows over an answer
SELECT ward, n - LAG(n, 1, 0) OVER w AS change, SUM(n) OVER (PARTITION BY urgent ORDER BY ward ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM (SELECT ward, urgent, COUNT(*) AS n FROM visits GROUP BY 1, 2) WINDOW w AS (ORDER BY ward);
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- >     urgent_1 [boolean of 2?]
-- > key key1 = ward_1 [text of 3?]
-- > key key2 = urgent_1 [boolean of 2?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "urgent" = key2
-- > output "n" = count1
-- > after project
-- >     ward = ward_2 [text?]
-- >     change = (n_2 - released_window1_3) [number step 1?]
-- >     sum(n) over (partition by urgent order by ward nulls last ro… = released_window2_3 [integer?]
-- >     windows
-- >       released_window1_3 = lag(n_2, 1, 0) [order ward_2 ascending, nulls last]
-- >       released_window2_3 = sum(n_2) [by urgent_2; order ward_2 ascending, nulls last; rows -1 to 0]
-- >       answer 1
-- >         ward_2 = "ward"
-- >         urgent_2 = "urgent"
-- >         n_2 = "n"

-- name: everything of an answer
SELECT * FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n LIMIT 2) t;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "n" = count1
-- > order count1 ascending, nulls last
-- > limit 2
-- > after project
-- >     ward = ward_2 [text?]
-- >     n = n_2 [integer?]
-- >     answer 1
-- >       ward_2 = "ward"
-- >       n_2 = "n"

-- name: totals of an answer
SELECT n > 10 AS many, COUNT(*), MAX(n), MEDIAN(n), COUNT(DISTINCT n) FILTER (WHERE n > 2) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) GROUP BY 1 HAVING COUNT(*) > 1;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "n" = count1
-- > after project
-- >     many = released_key1_3 [boolean of 2?]
-- >     count(*) = total1_3 [integer]
-- >     max(n) = total2_3 [integer?]
-- >     median(n) = total3_3 [number?]
-- >     count(distinct n) filter(where n > 2) = total4_3 [integer]
-- >     filter (total1_3 > 1)
-- >       totals
-- >         by released_key1_3 = (n_2 > 10)
-- >         total1_3 = count(*)
-- >         total2_3 = max(n_2)
-- >         total3_3 = quantile(n_2)
-- >         total4_3 = count(n_2)
-- >         answer 1
-- >           ward_2 = "ward"
-- >           n_2 = "n"

-- name: different values that are declared
SELECT DISTINCT ward FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count_units1 = count_units(*)
-- > output "ward" = key1
-- > distinct
-- > present

-- name: different values that nobody listed
SELECT DISTINCT note, urgent FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     urgent_1 [boolean of 2?]
-- >     note_1 [text?]
-- > key key1 = note_1 [text?]
-- > key key2 = urgent_1 [boolean of 2?]
-- > output "note" = key1
-- > output "urgent" = key2
-- > distinct

-- name: different values of the unit
SELECT DISTINCT patient_id FROM visits;
-- > refused: line 1, column 17: grouping by the unit, patient_id is refused, since each group would be one person's: count units with COUNT(DISTINCT …), or group by unit in a subquery and aggregate that

-- name: an answer beside private rows
SELECT COUNT(*) FROM visits v JOIN (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t ON v.ward = t.ward;
-- > refused: line 1, column 14: a join of an aggregated subquery with a table is refused, since its answer is out before the table's rows are read: aggregate both and join the answers, or ask twice and write the released numbers as constants

-- name: an answer beside a public table
SELECT w.city, n FROM wards w JOIN (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t ON w.ward = t.ward;
-- > refused: line 1, column 10: a join of an aggregated subquery with a table is refused, since its answer is out before the table's rows are read: aggregate both and join the answers, or ask twice and write the released numbers as constants

-- name: a window over rows
SELECT cost, RANK() OVER (ORDER BY cost) FROM visits;
-- > refused: line 1, column 8: a window function is refused, since its value on one row depends on other people's rows: use it over aggregates, as in RANK() OVER (ORDER BY COUNT(*)), or aggregate by unit in a subquery

-- name: a window over rows beside a group
SELECT ward, SUM(cost) OVER () FROM visits GROUP BY ward;
-- > refused: line 1, column 18: column "cost" by itself is refused, since it is neither grouped by nor aggregated: add it to GROUP BY, or aggregate it

-- name: a window in WHERE
SELECT COUNT(*) FROM visits WHERE RANK() OVER (ORDER BY cost) = 1;
-- > refused: line 1, column 57: a window function is refused, since its value on one row depends on other people's rows: use it over aggregates, as in RANK() OVER (ORDER BY COUNT(*)), or aggregate by unit in a subquery

-- name: a window in HAVING
SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING RANK() OVER (ORDER BY COUNT(*)) = 1;
-- > refused: line 1, column 84: a window in HAVING is refused, since groups are chosen before windows look at them: use QUALIFY

-- name: rows numbered by everybody
SELECT COUNT(*) FROM (SELECT patient_id, ROW_NUMBER() OVER (ORDER BY cost) AS n FROM visits) WHERE n < 9;
-- > refused: line 1, column 70: a window function is refused, since its value on one row depends on other people's rows: add the unit, as in OVER (PARTITION BY unit ORDER BY …)
