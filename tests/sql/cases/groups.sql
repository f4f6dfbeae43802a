-- name: by a column
SELECT ward, COUNT(*) FROM visits GROUP BY ward;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "count(*)" = count1

-- name: by position and alias
SELECT ward AS w, EXTRACT(YEAR FROM day) AS y, COUNT(*) FROM visits GROUP BY 1, y;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- >     day_1 [date 2023-01-01..2024-12-31?]
-- > key key1 = ward_1 [text of 3?]
-- > key key2 = extract('year', day_1) [integer 2023..2024 step 1?]
-- > aggregate count1 = count(*)
-- > output "w" = key1
-- > output "y" = key2
-- > output "count(*)" = count1

-- name: by expression
SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY DATE_TRUNC('month', day) ORDER BY m;
-- > from scan "visits" (unit unit_1)
-- >     day_1 [date 2023-01-01..2024-12-31?]
-- > key key1 = date_trunc('month', day_1) [date 2023-01-01..2024-12-01 of 24?]
-- > aggregate count1 = count(*)
-- > output "m" = key1
-- > output "count(*)" = count1
-- > order key1 ascending, nulls last

-- name: by all
SELECT ward, urgent, COUNT(*) FROM visits GROUP BY ALL;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- >     urgent_1 [boolean of 2?]
-- > key key1 = ward_1 [text of 3?]
-- > key key2 = urgent_1 [boolean of 2?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "urgent" = key2
-- > output "count(*)" = count1

-- name: by a case
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END AS band, COUNT(*) FROM visits GROUP BY band;
-- > from scan "visits" (unit unit_1)
-- >     age_1 [integer 0..120 step 1?]
-- > key key1 = case((age_1 < 18), 'child', (age_1 < 65), 'adult', 'old') [text of 3]
-- > aggregate count1 = count(*)
-- > output "band" = key1
-- > output "count(*)" = count1

-- name: functions of a key
SELECT UPPER(ward) || '!' AS w, COUNT(*) FROM visits GROUP BY ward;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "w" = concat(upper(key1), '!')
-- > output "count(*)" = count1

-- name: the same key twice
SELECT ward, COUNT(*) FROM visits v GROUP BY ward, v.ward;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "count(*)" = count1

-- name: quoted and capital names
SELECT "Ward Name", COUNT(*) AS "How many" FROM Visits AS V GROUP BY v."Ward Name" ORDER BY "How many";
-- > from scan "visits" (unit unit_1)
-- >     ward_name_1 [text?]
-- > key key1 = ward_name_1 [text?]
-- > aggregate count1 = count(*)
-- > output "Ward Name" = key1
-- > output "How many" = count1
-- > order count1 ascending, nulls last

-- name: having, order, limit, offset, distinct
SELECT DISTINCT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 10 AND AVG(cost) < 900 ORDER BY n DESC NULLS FIRST, SUM(cost) LIMIT 5 OFFSET 1;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- >     cost_1 [number 0..5000 step 1/100?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > aggregate avg2 = avg(cost_1)
-- > aggregate sum3 = sum(cost_1)
-- > output "ward" = key1
-- > output "n" = count1
-- > having ((count1 > 10) and (avg2 < 900))
-- > order count1 descending, nulls first
-- > order sum3 ascending, nulls last
-- > distinct
-- > limit 5
-- > offset 1

-- name: order by position
SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 2 DESC;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "count(*)" = count1
-- > order count1 descending, nulls last

-- name: two columns of one name
SELECT COUNT(*) AS n, SUM(cost) AS n FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate count1 = count(*)
-- > aggregate sum2 = sum(cost_1)
-- > output "n" = count1
-- > output "n_2" = sum2

-- name: by the unit
SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id;
-- > refused: line 1, column 50: grouping by the unit, patient_id is refused, since each group would be one person's: count units with COUNT(DISTINCT …), or group by unit in a subquery and aggregate that

-- name: by a constant
SELECT 'x', COUNT(*) FROM visits GROUP BY 'x';
-- > refused: GROUP BY 'x' is refused, since it is a constant and no column of SELECT: name a column; names are in double quotes, or in backticks in BigQuery

-- name: by a position that is none
SELECT ward, COUNT(*) FROM visits GROUP BY 3;
-- > refused: GROUP BY 3 is refused, since it is a constant and no column of SELECT: name a column; names are in double quotes, or in backticks in BigQuery

-- name: by an aggregate
SELECT COUNT(*) FROM visits GROUP BY 1;
-- > refused: GROUP BY COUNT(*) is refused, since rows are grouped before they are aggregated

-- name: a column that is not grouped
SELECT cost, COUNT(*) FROM visits GROUP BY ward;
-- > refused: line 1, column 8: column "cost" by itself is refused, since it is neither grouped by nor aggregated: add it to GROUP BY, or aggregate it

-- name: rollup
SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward);
-- > from levels row_level of (0,), ()
-- >     level_key1 = ward_1
-- >     scan "visits" (unit unit_1)
-- >       ward_1 [text of 3?]
-- > key level = row_level [integer 0..1 step 1 of 2]
-- > key key1 = level_key1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "count(*)" = count1

-- name: limit in percent
SELECT COUNT(*) FROM visits LIMIT 10%;
-- > refused: LIMIT in percent or with ties is refused, since it depends on the data: write LIMIT 10

-- name: limit that is computed
SELECT COUNT(*) FROM visits LIMIT 1 + 1;
-- > refused: LIMIT 1 + 1 is refused, since it is not a whole number: write one, as in LIMIT 10

-- name: order by what is not there
SELECT COUNT(*) FROM visits ORDER BY 2;
-- > refused: ORDER BY 2 is refused, since there is no such column to order by

-- name: cube
SELECT ward, urgent, GROUPING(ward), COUNT(*) FROM visits GROUP BY CUBE (ward, urgent);
-- > from levels row_level of (0, 1), (0,), (1,), ()
-- >     level_key1 = ward_1
-- >     level_key2 = urgent_1
-- >     scan "visits" (unit unit_1)
-- >       ward_1 [text of 3?]
-- >       urgent_1 [boolean of 2?]
-- > key level = row_level [integer 0..3 step 1 of 4]
-- > key key1 = level_key1 [text of 3?]
-- > key key2 = level_key2 [boolean of 2?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "urgent" = key2
-- > output "grouping(ward)" = ((0 * 2) + case(in(level, 2, 3), 1, 0))
-- > output "count(*)" = count1

-- name: grouping sets
SELECT ward, COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward, urgent), (ward), ());
-- > from levels row_level of (0, 1), (0,), ()
-- >     level_key1 = ward_1
-- >     level_key2 = urgent_1
-- >     scan "visits" (unit unit_1)
-- >       ward_1 [text of 3?]
-- >       urgent_1 [boolean of 2?]
-- > key level = row_level [integer 0..2 step 1 of 3]
-- > key key1 = level_key1 [text of 3?]
-- > key key2 = level_key2 [boolean of 2?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "count(*)" = count1

-- name: with rollup
SELECT ward, COUNT(*) FROM visits GROUP BY ward WITH ROLLUP;
-- > from levels row_level of (0,), ()
-- >     level_key1 = ward_1
-- >     scan "visits" (unit unit_1)
-- >       ward_1 [text of 3?]
-- > key level = row_level [integer 0..1 step 1 of 2]
-- > key key1 = level_key1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "count(*)" = count1

-- name: rollup of the unit
SELECT patient_id, COUNT(*) FROM visits GROUP BY ROLLUP (ward, patient_id);
-- > refused: line 1, column 64: grouping by the unit, patient_id is refused, since each group would be one person's: count units with COUNT(DISTINCT …), or group by unit in a subquery and aggregate that

-- name: grouping of another key
SELECT ward, GROUPING(urgent), COUNT(*) FROM visits GROUP BY ROLLUP (ward);
-- > refused: line 1, column 23: GROUPING(urgent) is refused, since it is not among the keys of GROUP BY

-- name: rollup of one unit
SELECT SUM(CLAMP(n, 0, 3)) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id, ROLLUP (ward)) t;
-- > refused: line 1, column 88: grouping by the unit, patient_id is refused, since each group would be one person's: count units with COUNT(DISTINCT …), or group by unit in a subquery and aggregate that
