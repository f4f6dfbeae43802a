-- name: logic and comparison
SELECT COUNT(*) FROM visits WHERE (age >= 18 AND age < 65 OR urgent) AND NOT (ward = 'east') AND note IS NOT NULL AND urgent IS TRUE AND ward IS DISTINCT FROM note;
-- > from filter (is_distinct(note_1, ward_1) and is_not_null(note_1) and is_true(urgent_1) and (ward_1 <> 'east') and (urgent_1 or ((age_1 >= 18) and (age_1 < 65))))
-- >     scan "visits" (unit unit_1)
-- >       ward_1 [text of 3?]
-- >       age_1 [integer 0..120 step 1?]
-- >       urgent_1 [boolean of 2?]
-- >       note_1 [text?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: lists and ranges
SELECT COUNT(*) FROM visits WHERE ward IN ('east', 'west') AND age NOT IN (1, 2) AND cost BETWEEN 10 AND 20.5;
-- > from filter ((cost_1 >= 10) and in(ward_1, 'east', 'west') and (cost_1 <= 20.5) and not(in(age_1, 1, 2)))
-- >     scan "visits" (unit unit_1)
-- >       ward_1 [text of 3?]
-- >       cost_1 [number 0..5000 step 1/100?]
-- >       age_1 [integer 0..120 step 1?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: arithmetic
SELECT SUM(-cost + age * 2 - 1), SUM(cost / age), SUM(age % 7), SUM(age // 7), SUM(ABS(cost - 100)), SUM(ROUND(cost, 1)), SUM(SQRT(cost)), SUM(LN(cost + 1)), SUM(POWER(age, 2)) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- >     age_1 [integer 0..120 step 1?]
-- > aggregate sum1 = sum((((age_1 * 2) + negate(cost_1)) - 1))
-- > aggregate sum2 = sum((cost_1 / age_1))
-- > aggregate sum3 = sum((age_1 % 7))
-- > aggregate sum4 = sum(div(age_1, 7))
-- > aggregate sum5 = sum(abs((cost_1 - 100)))
-- > aggregate sum6 = sum(round(cost_1, 1))
-- > aggregate sum7 = sum(sqrt(cost_1))
-- > aggregate sum8 = sum(ln((cost_1 + 1)))
-- > aggregate sum9 = sum(power(age_1, 2))
-- > output "sum(-cost + age * 2 - 1)" = sum1
-- > output "sum(cost / age)" = sum2
-- > output "sum(age % 7)" = sum3
-- > output "sum(cast(age / 7 as bigint))" = sum4
-- > output "sum(abs(cost - 100))" = sum5
-- > output "sum(round(cost, 1))" = sum6
-- > output "sum(sqrt(cost))" = sum7
-- > output "sum(ln(cost + 1))" = sum8
-- > output "sum(power(age, 2))" = sum9

-- name: choosing
SELECT SUM(COALESCE(cost, 0)), SUM(LEAST(cost, 100)), SUM(GREATEST(cost, age)), SUM(CLAMP(weight, 0, 200)), SUM(NULLIF(age, 0)), SUM(IF(urgent, cost, 0)), SUM(CASE ward WHEN 'east' THEN 1 WHEN 'west' THEN 2 END) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- >     cost_1 [number 0..5000 step 1/100?]
-- >     age_1 [integer 0..120 step 1?]
-- >     urgent_1 [boolean of 2?]
-- >     weight_1 [number?]
-- > aggregate sum1 = sum(coalesce(cost_1, 0))
-- > aggregate sum2 = sum(least(cost_1, 100))
-- > aggregate sum3 = sum(greatest(cost_1, age_1))
-- > aggregate sum4 = sum(clamp(weight_1, 0, 200))
-- > aggregate sum5 = sum(nullif(age_1, 0))
-- > aggregate sum6 = sum(case(urgent_1, cost_1, 0))
-- > aggregate sum7 = sum(switch(ward_1, 'east', 1, 'west', 2, null))
-- > output "sum(coalesce(cost, 0))" = sum1
-- > output "sum(least(cost, 100))" = sum2
-- > output "sum(greatest(cost, age))" = sum3
-- > output "sum(clamp(weight, 0, 200))" = sum4
-- > output "sum(nullif(age, 0))" = sum5
-- > output "sum(case when urgent then cost else 0 end)" = sum6
-- > output "sum(case ward when 'east' then 1 when 'west' then 2 end)" = sum7

-- name: texts
SELECT COUNT(*) FROM visits WHERE LOWER(note) LIKE 'a%' AND note NOT LIKE '5!%' ESCAPE '!' AND note ILIKE '_b' AND LENGTH(TRIM(note)) > 3 AND SUBSTR(note, 1, 2) = 'ab' AND LEFT(note, 1) || RIGHT(note, 1) = 'xy' AND STARTS_WITH(note, 'x') AND CONTAINS(note, 'y') AND REPLACE(note, 'a', 'b') = CONCAT(ward, 'z');
-- > from filter (contains(note_1, 'y') and (concat(coalesce(ward_1, ''), 'z') = replace(note_1, 'a', 'b')) and (concat(left(note_1, 1), right(note_1, 1)) = 'xy') and (substr(note_1, 1, 2) = 'ab') and (length(trim(note_1)) > 3) and ilike(note_1, '_b') and like(lower(note_1), 'a%') and not(like(note_1, '5!%', '!')) and starts_with(note_1, 'x'))
-- >     scan "visits" (unit unit_1)
-- >       ward_1 [text of 3?]
-- >       note_1 [text?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: dates
SELECT COUNT(*) FROM visits WHERE day >= '2024-01-01' AND seen < TIMESTAMP '2024-06-01 12:00:00' AND day + INTERVAL 3 DAY > DATE '2024-02-29' AND day - INTERVAL '1 month' < day AND DATE_DIFF('day', day, DATE '2024-12-31') > 30 AND YEAR(day) = 2024 AND EXTRACT(DOW FROM day) = 0 AND DATE_PART('month', day) = 2;
-- > from filter ((extract('dow', day_1) = 0) and (extract('month', day_1) = 2) and (extract('year', day_1) = 2024) and (day_1 >= 2024-01-01) and (day_1 > date_add(day_1, -1, 'month')) and (date_add(day_1, 3, 'day') > 2024-02-29) and (date_diff(2024-12-31, day_1) > 30) and (seen_1 < 2024-06-01T12:00:00))
-- >     scan "visits" (unit unit_1)
-- >       day_1 [date 2023-01-01..2024-12-31?]
-- >       seen_1 [timestamp 2023-01-01T00:00:00..2025-01-01T00:00:00?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: casts
SELECT SUM(CAST(cost AS INTEGER)), SUM(TRY_CAST(note AS DOUBLE)), SUM(CAST(cost AS DECIMAL(10, 1))), COUNT(*) FROM visits WHERE CAST(age AS VARCHAR) = '7' AND seen::DATE = DATE '2024-01-01';
-- > from filter ((to_date(seen_1) = 2024-01-01) and (to_text(age_1) = '7'))
-- >     scan "visits" (unit unit_1)
-- >       cost_1 [number 0..5000 step 1/100?]
-- >       age_1 [integer 0..120 step 1?]
-- >       seen_1 [timestamp 2023-01-01T00:00:00..2025-01-01T00:00:00?]
-- >       note_1 [text?]
-- > aggregate sum1 = sum(to_integer(cost_1))
-- > aggregate sum2 = sum(to_number(note_1))
-- > aggregate sum3 = sum(round(cost_1, 1))
-- > aggregate count4 = count(*)
-- > output "sum(cast(cost as int))" = sum1
-- > output "sum(try_cast(note as double))" = sum2
-- > output "sum(cast(cost as decimal(10, 1)))" = sum3
-- > output "count(*)" = count4

-- name: division of whole numbers in PostgreSQL
-- dialect: postgres
SELECT SUM(age / 2), SUM(age::float / 2) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     age_1 [integer 0..120 step 1?]
-- > aggregate sum1 = sum(div(age_1, 2))
-- > aggregate sum2 = sum((to_number(age_1) / 2))
-- > output "sum(age / 2)" = sum1
-- > output "sum(cast(age as double) / 2)" = sum2

-- name: derived bounds
SELECT SUM(cost * age), SUM(CASE WHEN urgent THEN cost ELSE -10 END) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- >     age_1 [integer 0..120 step 1?]
-- >     urgent_1 [boolean of 2?]
-- > aggregate sum1 = sum((age_1 * cost_1))
-- > aggregate sum2 = sum(case(urgent_1, cost_1, -10))
-- > output "sum(cost * age)" = sum1
-- > output "sum(case when urgent then cost else -10 end)" = sum2

-- name: the unit as a value
SELECT COUNT(*) FROM visits WHERE patient_id % 10 = 3;
-- > from filter ((patient_id_1 % 10) = 3)
-- >     scan "visits" (unit unit_1)
-- >       patient_id_1 [integer?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: texts and numbers mixed
SELECT COUNT(*) FROM visits WHERE ward = 3;
-- > refused: line 1, column 35: ward = 3 is refused: = mixes integer and text: bring its arguments to one type

-- name: a number is no condition
SELECT COUNT(*) FROM visits WHERE cost;
-- > refused: line 1, column 35: WHERE cost is refused, since it is a number and no condition: compare it

-- name: a date that is none
SELECT COUNT(*) FROM visits WHERE day = DATE '2024-02-30';
-- > refused: '2024-02-30' is not a date: write one as DATE '2024-03-01'

-- name: an interval from the data
SELECT COUNT(*) FROM visits WHERE day + INTERVAL (age) DAY > DATE '2024-01-01';
-- > refused: line 1, column 35: day + INTERVAL (age) DAY is refused, since an interval is a constant number of one unit: write INTERVAL 3 DAY

-- name: a pattern from the data
SELECT COUNT(*) FROM visits WHERE ward LIKE note;
-- > refused: line 1, column 35: ward LIKE note is refused: like needs a constant pattern as argument 2

-- name: a regular expression
SELECT COUNT(*) FROM visits WHERE note ~ 'a+';
-- > from filter regex(note_1, 'a+', 'search')
-- >     scan "visits" (unit unit_1)
-- >       note_1 [text?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: time of the day of asking
SELECT COUNT(*) FROM visits WHERE day = CURRENT_DATE;
-- > refused: a function that changes by itself (CURRENT_DATE) is refused, since the same question must mean the same thing when it is asked again: write the constant, such as DATE '2024-03-01'

-- name: chance
SELECT COUNT(*) FROM visits WHERE RANDOM() < 0.5;
-- > refused: a function that changes by itself (RAND()) is refused, since the same question must mean the same thing when it is asked again: write the constant, such as DATE '2024-03-01'

-- name: a function of somebody's own
SELECT SUM(leak(cost)) FROM visits;
-- > refused: line 1, column 12: the function "leak" is refused, since it is not among the known functions: see the SQL reference for those there are

-- name: bits
SELECT SUM(age & 1) FROM visits;
-- > refused: line 1, column 12: an operation on bits (age & 1) is refused, since engines differ in it: use arithmetic, or MOD

-- name: an unknown column
SELECT SUM(costs) FROM visits;
-- > refused: line 1, column 12: there is no column "costs": did you mean "cost"?

-- name: a hidden column
SELECT SUM(salary) FROM visits;
-- > refused: line 1, column 12: there is no column "salary" for questions, since the policy hides it: ask the curator, or leave it out

-- name: a column without a type
SELECT COUNT(photo) FROM visits;
-- > refused: line 1, column 14: column "photo" has no type in the policy, so it cannot be computed with

-- name: a whole row
SELECT COUNT(visits) FROM visits;
-- > refused: line 1, column 14: the whole row "visits" is refused, since values are plain: name its columns

-- name: a number too long
SELECT COUNT(*) FROM visits WHERE cost > 1e400;
-- > refused: the number 1e400 is refused, since it has more than 40 digits or is beyond 10^±60: no answer needs it

-- name: an aggregate in where
SELECT COUNT(*) FROM visits WHERE COUNT(*) > 1;
-- > refused: line 1, column 41: the aggregate in WHERE COUNT(*) > 1 is refused, since rows are chosen before they are aggregated: use HAVING, on released values
