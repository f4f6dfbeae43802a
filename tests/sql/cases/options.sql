-- name: privacy options
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1.5, delta = 1e-6, max_groups_contributed = 3, privacy_unit_column = patient_id) ward, COUNT(*) AS n FROM visits GROUP BY ward;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "n" = count1
-- > option epsilon = 3/2
-- > option delta = 1/1000000
-- > option max_groups = 3

-- name: rho
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.01) COUNT(*) FROM visits;
-- > from scan "visits" (unit unit_1)
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1
-- > option rho = 1/100

-- name: after with
WITH v AS (SELECT * FROM visits) SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM v;
-- > from scan "visits" (unit unit_1)
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1
-- > option epsilon = 1

-- name: bounds on a sum
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_groups_contributed = 2) `ward`, SUM(cost, contribution_bounds_per_group => (0, 100)) FROM visits GROUP BY ward;
-- > from scan "visits" (unit unit_1)
-- >     ward_1 [text of 3?]
-- >     cost_1 [number 0..5000 step 1/100?]
-- > key key1 = ward_1 [text of 3?]
-- > aggregate sum1 = sum(cost_1) [per group 0..100]
-- > output "ward" = key1
-- > output "sum(cost)" = sum1
-- > option epsilon = 1
-- > option max_groups = 2

-- name: several named arguments and a filter
SELECT SUM(cost, contribution_bounds_per_row => (0, 50), contribution_bounds_per_group => (0, 100)) FILTER (WHERE urgent) FROM visits;
-- > from scan "visits" (unit unit_1)
-- >     cost_1 [number 0..5000 step 1/100?]
-- >     urgent_1 [boolean of 2?]
-- > aggregate sum1 = sum(case(urgent_1, clamp(cost_1, 0, 50), null)) [per group 0..100]
-- > output "sum(cost) filter(where urgent)" = sum1

-- name: in a comment and in a text they mean nothing
SELECT /* SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 9) */ COUNT(*) AS n FROM visits WHERE note = 'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 9)';
-- > from filter (note_1 = 'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 9)')
-- >     scan "visits" (unit unit_1)
-- >       note_1 [text?]
-- > aggregate count1 = count(*)
-- > output "n" = count1

-- name: an unknown option
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (noise = 0) COUNT(*) FROM visits;
-- > refused: option noise of WITH DIFFERENTIAL_PRIVACY is refused, since it is not one of epsilon, rho, mu_squared, delta, max_groups_contributed, max_rows_contributed, min_privacy_units_per_group, privacy_unit_column, group_selection_strategy: leave it out

-- name: an option twice
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, epsilon = 2) COUNT(*) FROM visits;
-- > refused: option epsilon is given twice: keep one

-- name: negative epsilon
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = -1) COUNT(*) FROM visits;
-- > refused: option epsilon must be greater than 0

-- name: delta of one
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1) COUNT(*) FROM visits;
-- > refused: option delta must be less than 1

-- name: price said twice
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, rho = 1) COUNT(*) FROM visits;
-- > refused: options epsilon and rho say the price twice: keep one

-- name: another unit
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = ward) COUNT(*) FROM visits;
-- > refused: line 1, column 90: privacy_unit_column = "ward" is refused, since the policy names another unit for these tables: leave it out, or name that one

-- name: in a subquery
SELECT COUNT(*) FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM visits) t;
-- > from scan "visits" (unit unit_1)
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1
-- > option epsilon = 1
-- > after project
-- >     count(*) = total1_3 [integer]
-- >     totals
-- >       total1_3 = count(*)
-- >       answer 1
-- >         count_2 = "count(*)"

-- name: without options
SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM visits;
-- > from scan "visits" (unit unit_1)
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: an unknown named argument
SELECT SUM(cost, noise => 0) FROM visits;
-- > refused: line 1: the named argument noise is refused, since the known ones are contribution_bounds_per_group, contribution_bounds_per_row, max_values_per_unit

-- name: bounds in the wrong order
SELECT SUM(cost, contribution_bounds_per_group => (100, 0)) FROM visits;
-- > refused: line 1, column 59: contribution_bounds_per_group must have the lower end first

-- name: bounds from the data
SELECT SUM(cost, contribution_bounds_per_group => (0, age)) FROM visits;
-- > refused: line 1, column 55: a number was expected, not 'age'

-- name: named arguments of no aggregate
SELECT COUNT(*) FROM visits WHERE ABS(cost, contribution_bounds_per_group => (0, 1)) > 3;
-- > refused: line 1, column 84: the aggregate in WHERE ABS(cost) > 3 is refused, since rows are chosen before they are aggregated: use HAVING, on released values
