-- name: counts of rows, values and units
SELECT COUNT(*), COUNT(1), COUNT(note), COUNT(patient_id), COUNT(DISTINCT patient_id), COUNT(DISTINCT note, max_values_per_unit => 3) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     note_1 [text?]
-- > aggregate count1 = count(*)
-- > aggregate count2 = count(note_1)
-- > aggregate count_units3 = count_units(*)
-- > aggregate count_distinct4 = count_distinct(note_1) [cap 3]
-- > output "count(*)" = count1
-- > output "count(1)" = count1
-- > output "count(note)" = count2
-- > output "count(patient_id)" = count1
-- > output "count(distinct patient_id)" = count_units3
-- > output "count(distinct note)" = count_distinct4

-- name: sums and averages
SELECT SUM(cost), AVG(cost), MEAN(age), SUM(cost * age) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- >     age_1 [integer 0..120 step 1?]
-- > aggregate sum1 = sum(cost_1)
-- > aggregate avg2 = avg(cost_1)
-- > aggregate avg3 = avg(age_1)
-- > aggregate sum4 = sum((age_1 * cost_1))
-- > output "sum(cost)" = sum1
-- > output "avg(cost)" = avg2
-- > output "mean(age)" = avg3
-- > output "sum(cost * age)" = sum4

-- name: spread
SELECT VARIANCE(cost), VAR_SAMP(cost), VAR_POP(cost), STDDEV(cost), STDDEV_SAMP(cost), STDDEV_POP(cost) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate var_samp1 = var_samp(cost_1)
-- > aggregate var_pop2 = var_pop(cost_1)
-- > aggregate stddev_samp3 = stddev_samp(cost_1)
-- > aggregate stddev_pop4 = stddev_pop(cost_1)
-- > output "variance(cost)" = var_samp1
-- > output "variance(cost)_2" = var_samp1
-- > output "variance_pop(cost)" = var_pop2
-- > output "stddev(cost)" = stddev_samp3
-- > output "stddev_samp(cost)" = stddev_samp3
-- > output "stddev_pop(cost)" = stddev_pop4

-- name: two values
SELECT COVAR_SAMP(age, cost), COVAR_POP(age, cost), CORR(age, cost) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- >     age_1 [integer 0..120 step 1?]
-- > aggregate covar_samp1 = covar_samp(age_1, cost_1)
-- > aggregate covar_pop2 = covar_pop(age_1, cost_1)
-- > aggregate corr3 = corr(age_1, cost_1)
-- > output "covar_samp(age, cost)" = covar_samp1
-- > output "covar_pop(age, cost)" = covar_pop2
-- > output "corr(age, cost)" = corr3

-- name: extremes
SELECT MIN(cost), MAX(cost), MAX(DISTINCT age) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- >     age_1 [integer 0..120 step 1?]
-- > aggregate min1 = min(cost_1)
-- > aggregate max2 = max(cost_1)
-- > aggregate max3 = max(age_1)
-- > output "min(cost)" = min1
-- > output "max(cost)" = max2
-- > output "max(distinct age)" = max3

-- name: medians and percentiles
SELECT MEDIAN(cost), PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost), PERCENTILE_DISC(0.1) WITHIN GROUP (ORDER BY cost DESC), QUANTILE_CONT(cost, 0.9), QUANTILE_DISC(cost, 0.9), APPROX_QUANTILE(cost, 0.5) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate quantile1 = quantile(cost_1) [fraction 1/2]
-- > aggregate quantile2 = quantile(cost_1) [fraction 1/4]
-- > aggregate quantile3 = quantile(cost_1) [fraction 9/10, discrete True]
-- > aggregate quantile4 = quantile(cost_1) [fraction 9/10]
-- > output "median(cost)" = quantile1
-- > output "percentile_cont(0.25) within group (order by cost nulls last…" = quantile2
-- > output "percentile_disc(0.1) within group (order by cost desc)" = quantile3
-- > output "percentile_cont(cost, 0.9)" = quantile4
-- > output "percentile_disc(cost, 0.9)" = quantile3
-- > output "approx_quantile(cost, 0.5)" = quantile1

-- name: many quantiles at once
SELECT QUANTILE_CONT(cost, [0.1, 0.5, 0.999]) AS q FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate quantile1 = quantile(cost_1) [fraction 1/10]
-- > aggregate quantile2 = quantile(cost_1) [fraction 1/2]
-- > aggregate quantile3 = quantile(cost_1) [fraction 999/1000]
-- > output "q_p10" = quantile1
-- > output "q_p50" = quantile2
-- > output "q_p99.9" = quantile3

-- name: quartiles as BigQuery writes them
-- dialect: bigquery
SELECT APPROX_QUANTILES(cost, 4) AS q FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate quantile1 = quantile(cost_1) [fraction 0]
-- > aggregate quantile2 = quantile(cost_1) [fraction 1/4]
-- > aggregate quantile3 = quantile(cost_1) [fraction 1/2]
-- > aggregate quantile4 = quantile(cost_1) [fraction 3/4]
-- > aggregate quantile5 = quantile(cost_1) [fraction 1]
-- > output "q_p0" = quantile1
-- > output "q_p25" = quantile2
-- > output "q_p50" = quantile3
-- > output "q_p75" = quantile4
-- > output "q_p100" = quantile5

-- name: percentile as Spark writes it
-- dialect: spark
SELECT PERCENTILE(cost, 0.5) AS m FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate quantile1 = quantile(cost_1) [fraction 1/2]
-- > output "m" = quantile1

-- name: mode and top values
SELECT MODE(ward), MODE() WITHIN GROUP (ORDER BY ward), APPROX_TOP_K(ward, 2), TOP_K(ward, 2) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > aggregate mode1 = mode(ward_1)
-- > aggregate mode2 = mode(ward_1) [top 2]
-- > output "mode(ward)" = mode1
-- > output "mode() within group (order by ward nulls last)" = mode1
-- > output "approx_top_k(ward, 2)" = mode2
-- > output "top_k(ward, 2)" = mode2

-- name: histograms
SELECT HISTOGRAM(ward), HISTOGRAM(age, 12) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- >     age_1 [integer 0..120 step 1?]
-- > aggregate histogram1 = histogram(ward_1)
-- > aggregate histogram2 = histogram(age_1) [cells 12]
-- > output "histogram(ward)" = histogram1
-- > output "histogram(age, 12)" = histogram2

-- name: the same aggregate twice is one
SELECT AVG(cost), avg(v.cost) + 1, ROUND(AVG(cost), 2) FROM visits v HAVING AVG(cost) > 3 ORDER BY avg(cost);
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate avg1 = avg(cost_1)
-- > output "avg(cost)" = avg1
-- > output "avg(v.cost) + 1" = (avg1 + 1)
-- > output "round(avg(cost), 2)" = round(avg1, 2)
-- > having (avg1 > 3)
-- > order avg1 ascending, nulls last

-- name: a filter becomes a case
SELECT COUNT(*) FILTER (WHERE urgent), SUM(cost) FILTER (WHERE age > 65), COUNT_IF(age > 65) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- >     age_1 [integer 0..120 step 1?]
-- >     urgent_1 [boolean of 2?]
-- > aggregate count1 = count(case(urgent_1, 1, null))
-- > aggregate sum2 = sum(case((age_1 > 65), cost_1, null))
-- > aggregate count3 = count(case((age_1 > 65), 1, null))
-- > output "count(*) filter(where urgent)" = count1
-- > output "sum(cost) filter(where age > 65)" = sum2
-- > output "count_if(age > 65)" = count3

-- name: units that have something
SELECT COUNT(DISTINCT CASE WHEN urgent THEN patient_id END), COUNT(DISTINCT patient_id) FILTER (WHERE urgent) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     urgent_1 [boolean of 2?]
-- > aggregate count_units1 = count_units(case(urgent_1, 1, null))
-- > output "count(distinct case when urgent then patient_id end)" = count_units1
-- > output "count(distinct patient_id) filter(where urgent)" = count_units1

-- name: arithmetic over aggregates
SELECT 100 * COUNT_IF(urgent) / COUNT(*) AS share, CASE WHEN COUNT(*) > 10 THEN AVG(cost) END FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- >     urgent_1 [boolean of 2?]
-- > aggregate count1 = count(case(urgent_1, 1, null))
-- > aggregate count2 = count(*)
-- > aggregate avg3 = avg(cost_1)
-- > output "share" = ((count1 * 100) / count2)
-- > output "case when count(*) > 10 then avg(cost) end" = case((count2 > 10), avg3, null)

-- name: bounds per group and per row
SELECT SUM(cost, contribution_bounds_per_group => (-5, 100.5)), PERCENTILE_CONT(cost, 0.5, contribution_bounds_per_row => (0, 100)) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate sum1 = sum(cost_1) [per group -5..201/2]
-- > aggregate quantile2 = quantile(clamp(cost_1, 0, 100)) [fraction 1/2]
-- > output "sum(cost)" = sum1
-- > output "percentile_cont(cost, 0.5)" = quantile2

-- name: sum of distinct values
SELECT SUM(DISTINCT cost) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- > aggregate sum_distinct1 = sum_distinct(cost_1)
-- > output "sum(distinct cost)" = sum_distinct1

-- name: a sum of truth values
SELECT SUM(urgent) FROM visits;
-- > refused: line 1, column 12: SUM(urgent) is refused, since it needs a number, not a boolean: use COUNT_IF(x)

-- name: a sum of texts
SELECT AVG(note) FROM visits;
-- > refused: line 1, column 12: AVG(note) is refused, since it needs a number, not a text: use a number

-- name: an aggregate in an aggregate
SELECT SUM(COUNT(*)) FROM visits;
-- > refused: line 1, column 18: an aggregate inside an aggregate, SUM(COUNT(*)) is refused, since it has no order of doing: aggregate by unit in a subquery first

-- name: a list inside an expression
SELECT QUANTILE_CONT(cost, [0.1, 0.5]) + 1 FROM visits;
-- > refused: line 1, column 22: PERCENTILE_CONT(cost, ARRAY(0.1, 0.5)) inside an expression is refused, since it is a list of values: select it by itself

-- name: an order that is none
SELECT QUANTILE_CONT(cost, 1.5) FROM visits;
-- > refused: line 1, column 22: PERCENTILE_CONT(cost, 1.5) is refused, since the order of a quantile is a number from 0 to 1 in the query

-- name: an order from the data
SELECT QUANTILE_CONT(cost, age) FROM visits;
-- > refused: line 1, column 22: PERCENTILE_CONT(cost, age) is refused, since the order of a quantile is a number from 0 to 1 in the query

-- name: distinct pairs
SELECT COUNT(DISTINCT ward, note) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- >     note_1 [text?]
-- > aggregate count_distinct1 = count_distinct(concat(to_text(length(ward_1)), ':', ward_1, to_text(length(note_1)), ':', note_1))
-- > output "count(distinct ward, note)" = count_distinct1

-- name: values as they are
SELECT ANY_VALUE(note) FROM visits;
-- > refused: line 1, column 18: an aggregate that collects or picks single values (ANY_VALUE(note) IGNORE NULLS) is refused, since it would release somebody's value as it is: use MODE, MEDIAN, or COUNT by group

-- name: a list of values
SELECT ARRAY_AGG(note) FROM visits;
-- > refused: line 1, column 18: an aggregate that collects or picks single values (ARRAY_AGG(note)) is refused, since it would release somebody's value as it is: use MODE, MEDIAN, or COUNT by group

-- name: texts put together
SELECT STRING_AGG(note, ',') FROM visits;
-- > refused: line 1, column 19: an aggregate that collects or picks single values (GROUP_CONCAT(note, ',')) is refused, since it would release somebody's value as it is: use MODE, MEDIAN, or COUNT by group

-- name: one row decides
SELECT BOOL_OR(urgent) FROM visits;
-- > refused: line 1, column 16: BOOL_AND or BOOL_OR (LOGICAL_OR(urgent)) is refused, since one row decides it: use COUNT_IF(x) and compare it with a number

-- name: a sketch
SELECT APPROX_COUNT_DISTINCT(note) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     note_1 [text?]
-- > aggregate count_distinct1 = count_distinct(note_1)
-- > output "count(distinct note)" = count_distinct1

-- name: an ordered sum
SELECT SUM(cost ORDER BY age) FROM visits;
-- > refused: line 1, column 12: ORDER BY inside an aggregate is refused, since no aggregate here has an order: leave it out

-- name: no aggregate at all
SELECT ward, cost FROM visits;
-- > refused: line 1, column 8: a query without an aggregate is refused, since it would release rows as they are: select COUNT(*), AVG(x) …, with GROUP BY, or DISTINCT values

-- name: groups without a number
SELECT ward FROM visits GROUP BY ward;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count_units1 = count_units(*)
-- > output "ward" = key1
-- > present

-- name: everything
SELECT * FROM visits;
-- > refused: line 1, column 8: SELECT * in the outermost query is refused, since rows are never released as they are: select COUNT(*), AVG(x) …, with GROUP BY
