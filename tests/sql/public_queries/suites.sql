# in the style of the test suites of Qrlew, SmartNoise SQL, ZetaSQL and Uber's elastic sensitivity

-- accept
SELECT SUM(DISTINCT age) AS res FROM pums

-- accept
SELECT sex, COUNT(DISTINCT age) AS c, SUM(DISTINCT age) AS s, AVG(DISTINCT age) AS m FROM pums GROUP BY sex

-- accept
SELECT VARIANCE(DISTINCT age) AS v, STDDEV(DISTINCT age) AS d FROM pums

-- accept
SELECT COUNT(*) AS n, SUM(DISTINCT age) AS s FROM pums GROUP BY CEIL(income / 100000)

-- accept
SELECT SUM(DISTINCT age) AS s FROM pums WHERE sex = 0 HAVING COUNT(*) > 5

-- accept
SELECT DISTINCT SUM(age) AS res FROM pums

-- accept
SELECT SUM(educ * age + 4 + LOG(age + 2)) AS my_sum FROM pums

-- accept
SELECT (VARIANCE(age)) AS my_var, married FROM pums GROUP BY married

-- accept
SELECT sex, SUM(income / 10000) AS s, SUM(educ) AS e FROM pums GROUP BY sex HAVING NOT (sex = 1) ORDER BY s DESC LIMIT 10

-- accept
SELECT SUM(educ) AS s FROM pums GROUP BY LOG(CASE WHEN age < 50 THEN 50 ELSE 1 END)

-- accept
SELECT age AS "my age", 3 * COS(COUNT(*)) AS c, AVG(educ) AS "my avg" FROM pums GROUP BY "my age" ORDER BY "my age", "my avg"
-- unsupported

-- accept
SELECT SIN(AVG(age)), TAN(AVG(age)), ATAN(AVG(age)), ASIN(0.5), ACOS(0.5) FROM pums
-- unsupported

-- accept
SELECT ATANH(0.5), SINH(1), COSH(1), TANH(COUNT(*)) FROM pums
-- unsupported

-- accept
SELECT 3 AS three, p.married, educ, AVG(income) FROM pums AS p GROUP BY educ, married

-- accept
SELECT PI() AS pi, POWER(AVG(age), 2) AS p FROM pums

-- accept
SELECT CONCAT(age, sex) AS m, COUNT(*) AS n FROM pums GROUP BY age, sex

-- accept
SELECT UPPER(state) AS s, COUNT(*) AS n FROM pums GROUP BY state

-- accept
SELECT SUBSTRING(state FROM 1 FOR 4) AS s, COUNT(*) AS n FROM pums GROUP BY state

-- accept
SELECT POSITION('a' IN state) AS s, COUNT(*) AS n FROM pums GROUP BY state

-- accept
SELECT age, CASE WHEN COUNT(*) BETWEEN 0 AND 10 THEN 0 ELSE 1 END AS c FROM pums GROUP BY age

-- accept
SELECT CASE WHEN SUM(age) > 90 THEN 90 WHEN SUM(age) < 10 THEN 10 ELSE 0 END AS s FROM pums

-- accept
SELECT SUM(pums.age), SUM(age) FROM pums

-- accept
SELECT AVG(s) AS res FROM (SELECT SUM(income) AS s FROM pums GROUP BY age) AS subquery

-- accept
SELECT SUM(a) AS x, SUM(b) AS y FROM (SELECT LOG(income + 1.) AS a, SQRT(income) AS b FROM pums) AS subquery

-- accept
WITH t1 AS (SELECT age, married, COUNT(*) AS n FROM pums GROUP BY age, married ORDER BY age, married), t2 AS (SELECT 2 * age AS two_age, married, n FROM t1) SELECT two_age, COUNT(*) AS res FROM t2 GROUP BY two_age LIMIT 15

-- accept
SELECT SUM(s1) AS r1, SUM(s2) AS r2 FROM (SELECT SUM(educ) AS s1, SUM(age) AS s2 FROM pums GROUP BY sex HAVING COUNT(*) > 5) AS sq

-- accept
SELECT CHOOSE(race, 'a', 'b', 'c') AS r, COUNT(*) FROM pums GROUP BY CHOOSE(race, 'a', 'b', 'c')

-- accept
SELECT MIN(age) AS low, MAX(age) AS high, MAX(age) - MIN(age) AS width FROM pums

-- accept
SELECT COUNT(*), AVG(age) FROM (SELECT age FROM pums WHERE NOT age BETWEEN 18 AND 30) AS q

-- accept
SELECT CAST(age AS VARCHAR) AS my_age, COUNT(*) AS n FROM pums GROUP BY age

-- accept
SELECT age, COUNT(*) AS n FROM pums GROUP BY age LIMIT 20 OFFSET 1

-- accept
SELECT sex, STDDEV(income) / AVG(income) AS cv FROM pums GROUP BY sex

-- accept
SELECT SQUARE(AVG(age)), POWER(SUM(age), 0.5), MOD(COUNT(*), 10), COUNT(*) % 10 FROM pums

-- accept
SELECT COUNT(*) AS n FROM pums GROUP BY ()

-- accept
SELECT sex, race, COUNT(*) FROM pums GROUP BY sex, ROLLUP (race)

-- accept
SELECT sex, race, educ, SUM(income) FROM pums GROUP BY GROUPING SETS ((sex, race), (sex, educ), ())

-- accept
SELECT GROUPING(sex) AS g, sex, COUNT(*) FROM pums GROUP BY ROLLUP (sex) ORDER BY g, sex

-- accept
SELECT sex, race, COUNT(*) FROM pums GROUP BY sex, race WITH ROLLUP
-- dialect=spark

-- accept
SELECT COUNT(*) FROM trips a JOIN trips b ON a.rider_id = b.rider_id AND a.driver_id = b.driver_id

-- accept
SELECT COUNT(*) FROM trips t LEFT JOIN cities c ON t.city_id = c.city_id WHERE c.country = 'US' OR c.country IS NULL

-- accept
SELECT COUNT(*) FROM trips JOIN orders ON trips.rider_id = orders.customer_id JOIN customers ON orders.customer_id = customers.customer_id WHERE customers.region = 'EMEA'

-- accept
WITH a AS (SELECT COUNT(*) AS n FROM trips), b AS (SELECT COUNT(*) AS n FROM trips WHERE status = 'completed') SELECT b.n / a.n AS rate FROM a, b

-- accept
WITH a AS (SELECT city_id, COUNT(*) AS n FROM trips GROUP BY city_id) SELECT c.name, a.n FROM a JOIN cities c ON a.city_id = c.city_id
-- danger

-- accept
WITH a AS (SELECT status, COUNT(*) AS n FROM trips GROUP BY status), b AS (SELECT status, AVG(fare) AS f FROM trips GROUP BY status) SELECT * FROM a FULL OUTER JOIN b ON a.status = b.status

-- accept
SELECT COUNT(*) FROM (SELECT rider_id, COUNT(*) AS n FROM trips GROUP BY rider_id HAVING COUNT(*) > 10) AS frequent

-- accept
SELECT n, COUNT(*) FROM (SELECT rider_id, COUNT(DISTINCT city_id) AS n FROM trips GROUP BY rider_id) AS t GROUP BY n

-- accept
SELECT AVG(m) FROM (SELECT rider_id, MEDIAN(fare) AS m FROM trips GROUP BY rider_id) AS t
-- unsupported

-- accept
SELECT AVG(s) FROM (SELECT rider_id, STDDEV(fare) AS s FROM trips GROUP BY rider_id) AS t
-- unsupported

-- accept
SELECT WITH ANONYMIZATION OPTIONS(epsilon=1, delta=1e-5) ANON_COUNT(* CLAMPED BETWEEN 0 AND 100) FROM professors a JOIN professors b USING (id)

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) COUNT(*) FROM (SELECT id, item FROM professors WHERE quantity > 3)

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) COUNT(*) FROM professors WHERE EXISTS (SELECT 1 FROM products WHERE category = 'books')

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, max_groups_contributed = NULL) item, COUNT(*) FROM professors GROUP BY item

-- accept
WITH p AS (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) item, COUNT(*) AS n FROM professors GROUP BY item) SELECT SUM(n) FROM p

-- accept
SELECT item, n FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) item, COUNT(*) AS n FROM professors GROUP BY item) WHERE n > 10

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) VAR_POP(quantity), STDDEV_POP(quantity), VARIANCE(quantity) FROM professors

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) COUNTIF(quantity > 2), SUM(IF(quantity > 2, quantity, 0)) FROM professors

-- accept
SELECT item, COUNT(*) AS n, DP_INTERVAL_LOW('n') AS low, DP_INTERVAL_HIGH('n') AS high FROM professors GROUP BY item
-- dialect=snowflake

-- accept
SELECT COUNT(DISTINCT item) AS c, DP_INTERVAL_LOW('c') FROM professors
-- dialect=snowflake

-- danger
SELECT COUNT(*) FROM professors WHERE EXISTS (SELECT id FROM professors)

-- danger
SELECT WITH ANONYMIZATION ANON_COUNT(*) FROM professors a FULL OUTER JOIN professors b ON a.item = b.item

-- danger
SELECT COUNT(*) FROM professors a JOIN professors b ON a.id = a.id

-- danger
SELECT COUNT(*) FROM professors a JOIN professors b ON a.id = b.id OR a.item = b.item

-- danger
SELECT COUNT(*), SUM(DISTINCT t1.age) FROM pums t1 JOIN pums t2 ON t1.income = t2.income

-- danger
SELECT PI(), RAND(), POWER(AVG(age), 2) FROM pums

-- danger
SELECT income, age, AVG(educ) OVER (PARTITION BY sex) FROM pums

-- danger
SELECT COUNT(*) FROM pums WHERE age > ALL (SELECT age FROM pums WHERE sex = 1)

-- danger
SELECT NEWID(), COUNT(*) FROM pums
