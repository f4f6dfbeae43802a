-- name: aliases of variance and deviation
SELECT VAR(cost), STD(cost), STDEV(cost), VARP(cost), STDEVP(cost) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate var_samp1 = var_samp(cost_1)
-- > aggregate stddev_samp2 = stddev_samp(cost_1)
-- > aggregate var_pop3 = var_pop(cost_1)
-- > aggregate stddev_pop4 = stddev_pop(cost_1)
-- > output "variance(cost)" = var_samp1
-- > output "stddev(cost)" = stddev_samp2
-- > output "stddev(cost)_2" = stddev_samp2
-- > output "variance_pop(cost)" = var_pop3
-- > output "stddev_pop(cost)" = stddev_pop4

-- name: aliases with a prefix
-- dialect: bigquery
SELECT ANON_COUNT(*), ANON_SUM(cost), ANON_AVG(cost), DP_COUNT(*) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate count1 = count(*)
-- > aggregate sum2 = sum(cost_1)
-- > aggregate avg3 = avg(cost_1)
-- > output "count(*)" = count1
-- > output "sum(cost)" = sum2
-- > output "avg(cost)" = avg3
-- > output "count(*)_2" = count1

-- name: anonymization with clamping
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 1, delta = .01, kappa = 2) ANON_SUM(cost CLAMPED BETWEEN 0 AND 50) AS s, ANON_AVG(cost CLAMPED BETWEEN 0 AND 9) AS a FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate sum1 = sum(cost_1) [per group 0..50]
-- > aggregate avg2 = avg(clamp(cost_1, 0, 9))
-- > output "s" = sum1
-- > output "a" = avg2
-- > option epsilon = 1
-- > option delta = 1/100
-- > option max_groups = 2

-- name: top and brackets
SELECT TOP (3) [ward], COUNT(*) AS n FROM [visits] GROUP BY [ward] ORDER BY n DESC;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "n" = count1
-- > order count1 descending, nulls last
-- > limit 3

-- name: backticks
SELECT `ward`, COUNT(*) FROM `visits` GROUP BY `ward`;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "count(*)" = count1

-- name: fetch first
SELECT ward, COUNT(*) FROM visits GROUP BY ward FETCH FIRST 2 ROWS ONLY;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "count(*)" = count1
-- > limit 2

-- name: top twice
SELECT TOP 3 ward, COUNT(*) FROM visits GROUP BY ward LIMIT 2;
-- > refused: line 1, column 55: TOP and LIMIT say the same: keep one

-- name: fetch with ties
SELECT ward, COUNT(*) FROM visits GROUP BY ward FETCH FIRST 2 ROWS WITH TIES;
-- > refused: FETCH in percent or WITH TIES (FETCH FIRST 2 ROWS WITH TIES) is refused, since it depends on the data: write LIMIT 10

-- name: truth values as numbers
SELECT COUNT(*) FROM visits WHERE urgent = 1 OR urgent <> 0 OR urgent IN (0, 1);
-- > from filter ((urgent_1 = true) or in(urgent_1, false, true) or (urgent_1 <> false))
-- >     scan "visits" (unit unit_1)
-- >       urgent_1 [boolean of 2?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: a truth value and two
SELECT COUNT(*) FROM visits WHERE urgent = 2;
-- > refused: line 1, column 35: urgent = 2 is refused: = mixes boolean and integer: bring its arguments to one type

-- name: choices
SELECT SUM(IFF(urgent, 1, 0)), SUM(IIF(urgent, 1, 0)), SUM(NVL(age, 0)), SUM(ZEROIFNULL(age)), COUNT(NULLIFZERO(age)), COUNT(NVL2(age, 1, NULL)) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     age_1 [integer 0..120 step 1?]
-- >     urgent_1 [boolean of 2?]
-- > aggregate sum1 = sum(case(urgent_1, 1, 0))
-- > aggregate sum2 = sum(coalesce(age_1, 0))
-- > aggregate count3 = count(nullif(age_1, 0))
-- > aggregate count4 = count(case(is_not_null(age_1), 1, null))
-- > output "sum(case when urgent then 1 else 0 end)" = sum1
-- > output "sum(case when urgent then 1 else 0 end)_2" = sum1
-- > output "sum(coalesce(age, 0))" = sum2
-- > output "sum(zeroifnull(age))" = sum2
-- > output "count(nullifzero(age))" = count3
-- > output "count(nvl2(age, 1, null))" = count4

-- name: decode
SELECT DECODE(ward, 'east', 'e', 'west', 'w', 'o') AS k, COUNT(*) FROM visits GROUP BY k;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = switch(ward_1, 'east', 'e', 'west', 'w', 'o') [text of 3]
-- > aggregate count1 = count(*)
-- > output "k" = key1
-- > output "count(*)" = count1

-- name: between symmetric
SELECT COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 65 AND 18;
-- > from filter (((age_1 >= 18) and (age_1 <= 65)) or ((age_1 >= 65) and (age_1 <= 18)))
-- >     scan "visits" (unit unit_1)
-- >       age_1 [integer 0..120 step 1?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: any of a list
-- dialect: postgres
SELECT COUNT(*) FROM visits WHERE ward = ANY(ARRAY['east', 'west']);
-- > from filter in(ward_1, 'east', 'west')
-- >     scan "visits" (unit unit_1)
-- >       ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: like any
-- dialect: snowflake
SELECT COUNT(*) FROM visits WHERE note LIKE ANY ('a%', 'b%');
-- > from filter (like(note_1, 'a%') or like(note_1, 'b%'))
-- >     scan "visits" (unit unit_1)
-- >       note_1 [text?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: patterns
SELECT COUNT(*) FROM visits WHERE note ~ '^a+' OR note ~* 'b$' OR REGEXP_FULL_MATCH(note, '[a-c]*') OR note SIMILAR TO 'a|b';
-- > from filter (regex(note_1, '[a-c]*', 'whole') or regex(note_1, '^a+', 'search') or regex(note_1, 'a|b', 'whole') or regex(note_1, 'b$', 'search folded'))
-- >     scan "visits" (unit unit_1)
-- >       note_1 [text?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: a pattern of SQL
-- dialect: postgres
SELECT COUNT(*) FROM visits WHERE note SIMILAR TO '(a|b)%';
-- > from filter regex(note_1, '(a|b)[\s\S]*', 'whole')
-- >     scan "visits" (unit unit_1)
-- >       note_1 [text?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: a pattern that refers back
SELECT COUNT(*) FROM visits WHERE note ~ '(a)\1';
-- > refused: line 1, column 35: REGEXP_LIKE(note, '(a)\1') is refused: the pattern '(a)\\1' is not read, since \1 means different things in different engines (at character 6)

-- name: places in a text
SELECT COUNT(*) FROM visits WHERE POSITION('a' IN note) > 0 AND STRPOS(note, 'b') = 1 AND SPLIT_PART(note, '-', 2) = 'x';
-- > from filter ((position(note_1, 'b') = 1) and (split_part(note_1, '-', 2) = 'x') and (position(note_1, 'a') > 0))
-- >     scan "visits" (unit unit_1)
-- >       note_1 [text?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: a format of a date
SELECT STRFTIME(day, '%Y-%m') AS month, COUNT(*) FROM visits GROUP BY month;
-- > from scan "visits" (unit unit_1)
-- >     day_1 [date 2023-01-01..2024-12-31?]
-- > key key1 = concat(right(concat('000', to_text(extract('year', day_1))), 4), '-', right(concat('0', to_text(extract('month', day_1))), 2)) [text of 24?]
-- > aggregate count1 = count(*)
-- > output "month" = key1
-- > output "count(*)" = count1

-- name: a format that engines differ in
SELECT STRFTIME(day, '%c') AS c, COUNT(*) FROM visits GROUP BY c;
-- > refused: line 1, column 17: TIME_TO_STR(day, '%c') is refused, since its format has signs that engines write differently: use %Y %m %d %H %M %S %j %B %b %A %a, or YYYY MM DD HH24 MI SS

-- name: weeks from Sunday
-- dialect: bigquery
SELECT DATE_TRUNC(day, WEEK) AS w, COUNT(*) FROM visits GROUP BY w;
-- > from scan "visits" (unit unit_1)
-- >     day_1 [date 2023-01-01..2024-12-31?]
-- > key key1 = date_add(date_trunc('week', date_add(day_1, 1, 'day')), -1, 'day') [date 2023-01-01..2024-12-29 of 105?]
-- > aggregate count1 = count(*)
-- > output "w" = key1
-- > output "count(*)" = count1

-- name: the number of a week from Sunday
-- dialect: bigquery
SELECT EXTRACT(WEEK FROM day) AS w, COUNT(*) FROM visits GROUP BY w;
-- > refused: line 1, column 26: EXTRACT(WEEK FROM day) is refused, since weeks are counted from the first Sunday there, and by ISO 8601 here: write ISOWEEK

-- name: days of a week from one
-- dialect: bigquery
SELECT EXTRACT(DAYOFWEEK FROM day) AS d, COUNT(*) FROM visits GROUP BY d;
-- > from scan "visits" (unit unit_1)
-- >     day_1 [date 2023-01-01..2024-12-31?]
-- > key key1 = (extract('dow', day_1) + 1) [integer 1..7 step 1 of 7?]
-- > aggregate count1 = count(*)
-- > output "d" = key1
-- > output "count(*)" = count1

-- name: differences
SELECT AVG(DATE_DIFF('month', day, DATE '2024-12-31')), AVG(DATEDIFF(week, day, DATE '2024-12-31')) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     day_1 [date 2023-01-01..2024-12-31?]
-- > aggregate avg1 = avg((((extract('year', 2024-12-31) - extract('year', day_1)) * 12) + (extract('month', 2024-12-31) - extract('month', day_1))))
-- > aggregate avg2 = avg(div((((((date_diff(to_timestamp(2024-12-31), to_timestamp(day_1)) * 1440) + ((extract('hour', to_timestamp(2024-12-31)) - extract('hour', to_timestamp(day_1))) * 60)) + (extract('minute', to_timestamp(2024-12-31)) - extract('minute', to_timestamp(day_1)))) * 60000000) + (extract('microsecond', to_timestamp(2024-12-31)) - extract('microsecond', to_timestamp(day_1)))), 604800000000))
-- > output "avg(datediff(cast('2024-12-31' as date), day, month))" = avg1
-- > output "avg(timestampdiff(cast('2024-12-31' as date), day, week))" = avg2

-- name: a bucket
SELECT WIDTH_BUCKET(age, 0, 100, 10) AS b, COUNT(*) FROM visits GROUP BY b;
-- > from scan "visits" (unit unit_1)
-- >     age_1 [integer 0..120 step 1?]
-- > key key1 = clamp((floor((((age_1 - 0) * 10) / 100)) + 1), 0, 11) [integer 1..11 step 1 of 11?]
-- > aggregate count1 = count(*)
-- > output "b" = key1
-- > output "count(*)" = count1

-- name: a function that nobody knows
SELECT GEOMETRIC_MEAN(cost) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate avg1 = avg(ln(cost_1))
-- > output "exp(avg(ln(cost)))" = exp(avg1)

-- name: an aggregate that is missing
SELECT SKEWNESS(cost) FROM visits;
-- > refused: line 1, column 17: SKEWNESS(cost) is refused, since it is not among the known constructs

-- name: a threshold
SELECT WITH AGGREGATION_THRESHOLD OPTIONS (threshold = 50) COUNT(*) FROM visits;
-- > refused: line 1, column 1: WITH AGGREGATION_THRESHOLD is refused, since a threshold alone protects nobody: leave it out, and every answer has noise

-- name: an option that has no equal
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_rows_contributed = 3) COUNT(*) FROM visits;
-- > from scan "visits" (unit unit_1)
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1
-- > option epsilon = 1

-- name: qualify
SELECT ward, COUNT(*) FROM visits GROUP BY ward QUALIFY ROW_NUMBER() OVER (ORDER BY ward) = 1;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "key1" = key1
-- > output "count1" = count1
-- > after project
-- >     ward = key1 [text of 3?]
-- >     count(*) = count1 [integer]
-- >     filter (window1 = 1)
-- >       windows
-- >         window1 = row_number() [order key1 ascending, nulls last]
-- >         answer 1
-- >           key1 = "key1"
-- >           count1 = "count1"
