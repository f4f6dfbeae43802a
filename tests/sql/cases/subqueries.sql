-- name: rows chosen and computed
SELECT AVG(c) FROM (SELECT cost * 2 AS c, ward FROM visits WHERE age > 3) t WHERE ward = 'east';
-- > from filter (ward_1 = 'east')
-- >     project
-- >       ward_1 = ward_1 [text of 3?]
-- >       computed_3 = (cost_1 * 2) [number 0..10000 step 1/50?]
-- >       filter (age_1 > 3)
-- >         scan "visits" (unit unit_1)
-- >           ward_1 [text of 3?]
-- >           cost_1 [number 0..5000 step 1/100?]
-- >           age_1 [integer 0..120 step 1?]
-- > aggregate avg1 = avg(computed_3)
-- > output "avg(c)" = avg1

-- name: everything of a table
SELECT COUNT(*) FROM (SELECT * FROM visits) t WHERE age > 3;
-- > from filter (age_1 > 3)
-- >     scan "visits" (unit unit_1)
-- >       age_1 [integer 0..120 step 1?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: with
WITH old AS (SELECT * FROM visits WHERE age > 65), dear AS (SELECT ward, cost FROM old WHERE cost > 100) SELECT ward, COUNT(*) FROM dear GROUP BY ward;
-- > from filter (cost_1 > 100)
-- >     filter (age_1 > 65)
-- >       scan "visits" (unit unit_1)
-- >         ward_1 [text of 3?]
-- >         cost_1 [number 0..5000 step 1/100?]
-- >         age_1 [integer 0..120 step 1?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "count(*)" = count1

-- name: with columns renamed
WITH a(w, c) AS (SELECT ward, cost FROM visits) SELECT w, SUM(c) FROM a GROUP BY w;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- >     cost_1 [number 0..5000 step 1/100?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate sum1 = sum(cost_1)
-- > output "w" = key1
-- > output "sum(c)" = sum1

-- name: with that hides a table
WITH visits AS (SELECT * FROM visits WHERE urgent) SELECT COUNT(*) FROM visits;
-- > from filter urgent_1
-- >     scan "visits" (unit unit_1)
-- >       urgent_1 [boolean of 2?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: one row for each unit
SELECT AVG(n), MEDIAN(total) FROM (SELECT patient_id, LEAST(COUNT(*), 10) AS n, CLAMP(SUM(cost), 0, 9000) AS total FROM visits GROUP BY patient_id) t;
-- > from project
-- >     computed_4 = least(count_3, 10) [integer 0..10 step 1]
-- >     computed_4_2 = clamp(sum_3, 0, 9000) [number 0..9000 step 1/100?]
-- >     group by unit
-- >       count_3 = count(*) [integer 0.. step 1]
-- >       sum_3 = sum(cost_1) [number 0.. step 1/100?]
-- >       scan "visits" (unit unit_1)
-- >         cost_1 [number 0..5000 step 1/100?]
-- > aggregate avg1 = avg(computed_4)
-- > aggregate quantile2 = quantile(computed_4_2) [fraction 1/2]
-- > output "avg(n)" = avg1
-- > output "median(total)" = quantile2

-- name: one row for each unit and ward
SELECT ward, AVG(dearest) FROM (SELECT patient_id, ward, MAX(cost) AS dearest, MIN(day) AS first FROM visits GROUP BY patient_id, ward HAVING COUNT(*) > 1) t GROUP BY ward;
-- > from filter (count_3 > 1)
-- >     group by unit
-- >       by key_3 = ward_1
-- >       count_3 = count(*) [integer 0.. step 1]
-- >       max_3 = max(cost_1) [number 0..5000 step 1/100?]
-- >       scan "visits" (unit unit_1)
-- >         ward_1 [text of 3?]
-- >         cost_1 [number 0..5000 step 1/100?]
-- > key key1 = key_3 [text of 3?]
-- > aggregate avg1 = avg(max_3)
-- > output "ward" = key1
-- > output "avg(dearest)" = avg1

-- name: what is known of sub-aggregates
SELECT COUNT(n), COUNT(s), COUNT(a), COUNT(m), COUNT(f) FROM (SELECT patient_id, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a, MAX(age) AS m, COUNT(*) FILTER (WHERE urgent) AS f FROM visits GROUP BY patient_id) t;
-- > from group by unit
-- >     count_3 = count(*) [integer 0.. step 1]
-- >     sum_3 = sum(cost_1) [number 0.. step 1/100?]
-- >     avg_3 = avg(cost_1) [number 0..5000?]
-- >     max_3 = max(age_1) [integer 0..120 step 1?]
-- >     count_3_2 = count(case(urgent_1, 1, null)) [integer 0.. step 1]
-- >     scan "visits" (unit unit_1)
-- >       cost_1 [number 0..5000 step 1/100?]
-- >       age_1 [integer 0..120 step 1?]
-- >       urgent_1 [boolean of 2?]
-- > aggregate count1 = count(count_3)
-- > aggregate count2 = count(sum_3)
-- > aggregate count3 = count(avg_3)
-- > aggregate count4 = count(max_3)
-- > aggregate count5 = count(count_3_2)
-- > output "count(n)" = count1
-- > output "count(s)" = count2
-- > output "count(a)" = count3
-- > output "count(m)" = count4
-- > output "count(f)" = count5

-- name: a sum of what has no step
SELECT COUNT(s) FROM (SELECT patient_id, SUM(cost / 3) AS s FROM visits GROUP BY patient_id) t;
-- > from group by unit
-- >     sum_3 = sum((cost_1 / 3)) [number 0.. step 1/512?]
-- >     scan "visits" (unit unit_1)
-- >       cost_1 [number 0..5000 step 1/100?]
-- > aggregate count1 = count(sum_3)
-- > output "count(s)" = count1

-- name: different rows of each unit
SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, ward FROM visits) t;
-- > from group by unit
-- >     by key_3 = ward_1
-- >     scan "visits" (unit unit_1)
-- >       ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: joined with a per-unit subquery
SELECT AVG(v.cost) FROM visits v JOIN (SELECT patient AS p, MAX(dose) AS d FROM treatments GROUP BY patient) t ON v.patient_id = t.p WHERE t.d > 50;
-- > from filter (max_4 > 50)
-- >     inner join on unit_1 = unit_2
-- >       scan "visits" (unit unit_1)
-- >         cost_1 [number 0..5000 step 1/100?]
-- >       group by unit
-- >         max_4 = max(dose_2) [number 0..100 step 1/2?]
-- >         scan "treatments" (unit unit_2, at most 20 rows per unit)
-- >           dose_2 [number 0..100 step 1/2?]
-- > aggregate avg1 = avg(cost_1)
-- > output "avg(v.cost)" = avg1

-- name: unit not selected
SELECT COUNT(DISTINCT patient_id) FROM (SELECT ward FROM visits) t;
-- > refused: line 1, column 23: there is no column "patient_id": the columns are "ward"

-- name: grouped by something else
SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "n" = count1
-- > after project
-- >     avg(n) = total1_3 [number?]
-- >     totals
-- >       total1_3 = avg(n_2)
-- >       answer 1
-- >         ward_2 = "ward"
-- >         n_2 = "n"

-- name: aggregated over everybody
SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM visits) t;
-- > from scan "visits" (unit unit_1)
-- > aggregate count1 = count(*)
-- > output "n" = count1
-- > after project
-- >     sum(n) = total1_3 [integer?]
-- >     totals
-- >       total1_3 = sum(n_2)
-- >       answer 1
-- >         n_2 = "n"

-- name: different values of everybody
SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM visits) t;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count_units1 = count_units(*)
-- > output "ward" = key1
-- > distinct
-- > present
-- > after project
-- >     count(*) = total1_3 [integer]
-- >     totals
-- >       total1_3 = count(*)
-- >       answer 1
-- >         ward_2 = "ward"

-- name: rows that are units
SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM staff GROUP BY ward) t;
-- > from scan "staff" (each row a unit)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "n" = count1
-- > after project
-- >     avg(n) = total1_3 [number?]
-- >     totals
-- >       total1_3 = avg(n_2)
-- >       answer 1
-- >         ward_2 = "ward"
-- >         n_2 = "n"

-- name: public tables aggregated
SELECT COUNT(*) FROM visits v JOIN (SELECT ward, COUNT(*) AS n FROM wards GROUP BY ward) w ON v.ward = w.ward;
-- > refused: line 1, column 44: an aggregate over public tables in a subquery is refused, since only private tables are aggregated here: join with the public table as it is

-- name: a median of each unit
SELECT AVG(m) FROM (SELECT patient_id, MEDIAN(cost) AS m FROM visits GROUP BY patient_id) t;
-- > refused: line 1, column 47: MEDIAN(cost) in a subquery is refused, since COUNT, SUM, AVG, MIN and MAX are computed for each unit: use one of these

-- name: a sum without bounds
SELECT AVG(m) FROM (SELECT patient_id, SUM(weight) AS m FROM visits GROUP BY patient_id) t;
-- > refused: line 1, column 44: SUM(weight) is refused, since column "weight" has no bounds: bound it with CLAMP(x, low, high)

-- name: first rows
SELECT COUNT(*) FROM (SELECT * FROM visits LIMIT 10) t;
-- > refused: line 1, column 30: LIMIT in a subquery is refused, since which rows are left depends on other people's: move it to the outermost SELECT

-- name: in order
SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY cost) t;
-- > refused: line 1, column 30: ORDER BY in a subquery is refused, since an order has no effect there: move it to the outermost SELECT

-- name: a value from a subquery
SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits);
-- > refused: line 1, column 54: a subquery inside an expression is refused, since its value would depend on other people's rows before any noise is added: join with it in FROM, on the unit or with a public table

-- name: in a subquery
SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient FROM treatments);
-- > from filter match_4
-- >     match_4 = in on unit_1 = unit_2
-- >       scan "visits" (unit unit_1)
-- >       scan "treatments" (unit unit_2, at most 20 rows per unit)
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: exists
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM treatments t WHERE t.patient = v.patient_id);
-- > from filter match_3
-- >     match_3 = exists on unit_1 = unit_2
-- >       scan "visits" (unit unit_1)
-- >       scan "treatments" (unit unit_2, at most 20 rows per unit)
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: a subquery in select
SELECT COUNT(*), (SELECT MAX(cost) FROM visits) FROM visits;
-- > from scan "visits" (unit unit_1)
-- > aggregate count1 = count(*)
-- > output "count1" = count1
-- > beside 2
-- >   from scan "visits" (unit unit_2)
-- >       cost_2 [number 0..5000 step 1/100?]
-- >   aggregate q2_max1 = max(cost_2)
-- >   output "max(cost)" = q2_max1
-- > after project
-- >     count(*) = count1 [integer]
-- >     select max(cost) from visits = max_cost_3 [number?]
-- >     left join once on 
-- >       answer 1
-- >         count1 = "count1"
-- >       answer 2
-- >         max_cost_3 = "max(cost)"

-- name: recursive
WITH RECURSIVE a AS (SELECT 1 AS x) SELECT COUNT(*) FROM a;
-- > refused: line 1, column 16: WITH RECURSIVE is refused, since its rows have no one owner: write the query without recursion

-- name: union
SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM treatments;
-- > from scan "visits" (unit unit_1)
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1
-- > beside 2
-- >   from scan "treatments" (unit unit_3, at most 20 rows per unit)
-- >   aggregate q2_count1 = count(*)
-- >   output "count(*)" = q2_count1
-- > after project
-- >     count(*) = count_5 [integer?]
-- >     appended

-- name: union inside
SELECT COUNT(*) FROM (SELECT ward FROM visits UNION ALL SELECT ward FROM staff) t;
-- > refused: line 1, column 30: UNION ALL of these rows is refused, since it is for private rows that name their unit, or for answers alone: ask each part as a question of its own

-- name: lateral
SELECT COUNT(*) FROM visits v, LATERAL (SELECT v.cost) t;
-- > refused: line 1, column 56: UNNEST or LATERAL (LATERAL (SELECT v.cost) AS t) is refused, since it makes any number of rows out of one: declare a table with one row for each element

-- name: unnest
SELECT COUNT(*) FROM visits, UNNEST([1, 2]) t;
-- > refused: line 1, column 45: UNNEST or LATERAL (UNNEST(ARRAY(1, 2)) AS t) is refused, since it makes any number of rows out of one: declare a table with one row for each element

-- name: a window
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id) AS n FROM visits) t;
-- > from scan "visits" (unit unit_1)
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: qualify
SELECT COUNT(*) FROM visits QUALIFY ROW_NUMBER() OVER () = 1;
-- > from scan "visits" (unit unit_1)
-- > aggregate count1 = count(*)
-- > output "count1" = count1
-- > after project
-- >     count(*) = count1 [integer]
-- >     filter (window1 = 1)
-- >       windows
-- >         window1 = row_number() []
-- >         answer 1
-- >           count1 = "count1"

-- name: with the same name twice
WITH a AS (SELECT * FROM visits), A AS (SELECT * FROM visits) SELECT COUNT(*) FROM a;
-- > refused: line 1, column 48: WITH defines "A" twice: give one another name

-- name: not in a subquery on the unit
SELECT COUNT(*) FROM visits WHERE patient_id NOT IN (SELECT patient FROM treatments WHERE dose > 3) OR urgent;
-- > from filter (urgent_1 or not(match_4))
-- >     match_4 = in on unit_1 = unit_2
-- >       scan "visits" (unit unit_1)
-- >         urgent_1 [boolean of 2?]
-- >       filter (dose_2 > 3)
-- >         scan "treatments" (unit unit_2, at most 20 rows per unit)
-- >           dose_2 [number 0..100 step 1/2?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: in a public table
SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT ward FROM wards WHERE floor > 1);
-- > from filter not(match_4)
-- >     match_4 = in on ward_1 = ward_2
-- >       scan "visits" (unit unit_1)
-- >         ward_1 [text of 3?]
-- >       filter (floor_2 > 1)
-- >         scan "wards" (public)
-- >           ward_2 [text of 3]
-- >           floor_2 [integer 0..9 step 1?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: in a subquery on another key
SELECT COUNT(*) FROM visits WHERE drug IN (SELECT drug FROM treatments);
-- > refused: line 1, column 35: the subquery in drug IN (SELECT drug FROM treatments) is refused, since other people's rows would decide about a row: match it by the unit, as in WHERE unit IN (SELECT unit …) or EXISTS (… WHERE a.unit = b.unit)

-- name: exists without the unit
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM treatments t WHERE t.drug = v.drug);
-- > refused: line 1, column 59: the subquery in EXISTS(SELECT 1 FROM treatments AS t WHERE t.drug = v.drug) is refused, since other people's rows would decide about a row: match it by the unit, as in WHERE unit IN (SELECT unit …) or EXISTS (… WHERE a.unit = b.unit)

-- name: exists by another comparison
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM treatments t WHERE t.patient = v.patient_id AND t.dose > v.cost);
-- > refused: line 1, column 109: t.dose > v.cost in EXISTS is refused, since an outer row is matched by equal keys alone: write a.key = b.key

-- name: public rows that private ones choose
SELECT COUNT(*) FROM visits v JOIN (SELECT * FROM wards w WHERE EXISTS (SELECT 1 FROM wards x WHERE x.ward = w.ward)) u ON v.ward = u.ward;
-- > refused: line 1, column 87: EXISTS(SELECT 1 FROM wards AS x WHERE x.ward = w.ward) is refused, since rows of public tables would be chosen by private ones: match it by the unit, as in WHERE unit IN (SELECT unit …) or EXISTS (… WHERE a.unit = b.unit)

-- name: union of two tables of the same people
SELECT COUNT(*), SUM(x), COUNT(DISTINCT p) FROM (SELECT patient_id AS p, cost AS x FROM visits UNION ALL SELECT patient, dose FROM treatments) u;
-- > from stack (unit unit_5)
-- >     x_5 = cost_1, dose_3 [number 0..5000?]
-- >     scan "visits" (unit unit_1)
-- >       cost_1 [number 0..5000 step 1/100?]
-- >     scan "treatments" (unit unit_3, at most 20 rows per unit)
-- >       dose_3 [number 0..100 step 1/2?]
-- > aggregate count1 = count(*)
-- > aggregate sum2 = sum(x_5)
-- > aggregate count_units3 = count_units(*)
-- > output "count(*)" = count1
-- > output "sum(x)" = sum2
-- > output "count(distinct p)" = count_units3

-- name: union without all
SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION SELECT patient FROM treatments) u;
-- > from group by unit
-- >     stack (unit unit_5)
-- >       scan "visits" (unit unit_1)
-- >       scan "treatments" (unit unit_3, at most 20 rows per unit)
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: rows numbered by unit
SELECT COUNT(*), SUM(cost) FROM (SELECT patient_id, cost, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day DESC) AS n FROM visits) t WHERE n = 1;
-- > from filter (window_2 = 1)
-- >     windows
-- >       window_2 = row_number() [order day_1 descending, nulls last]
-- >       scan "visits" (unit unit_1)
-- >         cost_1 [number 0..5000 step 1/100?]
-- >         day_1 [date 2023-01-01..2024-12-31?]
-- > aggregate count1 = count(*)
-- > aggregate sum2 = sum(cost_1)
-- > output "count(*)" = count1
-- > output "sum(cost)" = sum2

-- name: the first row of each unit
SELECT AVG(cost) FROM (SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) = 1) t;
-- > from filter (window_2 = 1)
-- >     windows
-- >       window_2 = row_number() [order day_1 ascending, nulls last]
-- >       scan "visits" (unit unit_1)
-- >         cost_1 [number 0..5000 step 1/100?]
-- >         day_1 [date 2023-01-01..2024-12-31?]
-- > aggregate avg1 = avg(cost_1)
-- > output "avg(cost)" = avg1

-- name: numbered by ward
SELECT COUNT(*) FROM (SELECT patient_id, ROW_NUMBER() OVER (PARTITION BY ward ORDER BY day) AS n FROM visits) t WHERE n = 1;
-- > refused: line 1, column 74: a window function is refused, since its value on one row depends on other people's rows: add the unit, as in OVER (PARTITION BY unit ORDER BY …)

-- name: running totals of a unit
SELECT COUNT(*) FROM (SELECT patient_id, SUM(cost) OVER (PARTITION BY patient_id ORDER BY day) AS s FROM visits) t WHERE s > 9;
-- > from filter (window_2 > 9)
-- >     windows
-- >       window_2 = sum(cost_1) [order day_1 ascending, nulls last; range all to 0]
-- >       scan "visits" (unit unit_1)
-- >         cost_1 [number 0..5000 step 1/100?]
-- >         day_1 [date 2023-01-01..2024-12-31?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1
