# a census file, in the style of tutorials that use one: SmartNoise SQL, OpenDP, Tumult

-- accept
SELECT COUNT(*) FROM pums

-- accept
SELECT COUNT(*) AS n FROM PUMS.PUMS

-- accept
SELECT AVG(age) FROM pums

-- accept
SELECT sex, AVG(age) AS age FROM pums GROUP BY sex ORDER BY sex

-- accept
SELECT married, COUNT(*) AS n, AVG(income) AS income FROM pums GROUP BY married

-- accept
SELECT COUNT(DISTINCT pid) AS people FROM pums WHERE age > 65

-- accept
SELECT VAR(age) AS spread FROM pums

-- accept
SELECT STD(age), STDDEV(income) FROM pums

-- accept
SELECT VARIANCE(age), VAR_SAMP(age), VAR_POP(age), STDDEV_POP(age), STDDEV_SAMP(age) FROM pums

-- accept
SELECT sex, VAR(income), STDEV(income) FROM pums GROUP BY sex

-- accept
SELECT VARP(age), STDEVP(age) FROM pums

-- accept
SELECT SUM(income) / COUNT(*) AS mean_income FROM pums

-- accept
SELECT educ, SUM(income) FROM pums WHERE educ IN (9, 10, 11, 12, 13) GROUP BY educ

-- accept
SELECT TOP 5 educ, COUNT(*) AS n FROM pums GROUP BY educ ORDER BY n DESC

-- accept
SELECT TOP (3) race, COUNT(*) AS n FROM pums GROUP BY race ORDER BY COUNT(*) DESC

-- accept
SELECT COUNT(*) FROM pums WHERE married = 1

-- accept
SELECT COUNT(*) FROM pums WHERE married = 0 AND sex = 1

-- accept
SELECT SUM(CAST(married AS INTEGER)) FROM pums

-- accept
SELECT AVG(CASE WHEN married THEN 1.0 ELSE 0.0 END) AS share FROM pums

-- accept
SELECT sex, married, COUNT(*) FROM pums GROUP BY 1, 2 HAVING COUNT(*) > 100

-- accept
SELECT age, COUNT(*) FROM pums WHERE age BETWEEN 18 AND 65 GROUP BY age

-- accept
SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) FROM pums GROUP BY decade ORDER BY decade

-- accept
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS band, COUNT(*) FROM pums GROUP BY 1

-- accept
SELECT state, COUNT(*) FROM pums GROUP BY state

-- accept
SELECT DISTINCT state FROM pums

-- accept
SELECT state FROM pums GROUP BY state

-- accept
SELECT MEDIAN(income) FROM pums

-- accept
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY income) FROM pums

-- accept
SELECT QUANTILE(age, 0.25), QUANTILE(age, 0.75) FROM pums

-- accept
SELECT APPROX_PERCENTILE(income, 0.9) FROM pums

-- accept
SELECT MIN(age), MAX(age) FROM pums

-- accept
SELECT COUNT(age), COUNT(income), COUNT(1) FROM pums

-- accept
SELECT (COUNT(*) * 1.0) AS n, 2 * SUM(income) + 1 AS y FROM pums

-- accept
SELECT POWER(AVG(age), 2), SQRT(VAR(age)) FROM pums

-- accept
SELECT LN(income + 1) > 10 AS rich, COUNT(*) FROM pums GROUP BY 1

-- accept
SELECT ROUND(AVG(income), 2) FROM pums

-- accept
SELECT COUNT(*) FILTER (WHERE age >= 18) AS adults, COUNT(*) AS everybody FROM pums

-- accept
SELECT COUNT_IF(age >= 18), COUNTIF(income > 50000) FROM pums

-- accept
SELECT SUM(CASE WHEN sex = 0 THEN 1 ELSE 0 END) AS women FROM pums

-- accept
SELECT SUM(IF(sex = 0, 1, 0)) AS women FROM pums

-- accept
SELECT SUM(IIF(sex = 0, 1, 0)) AS women FROM pums

-- accept
SELECT SUM(IFF(sex = 0, income, 0)) AS women FROM pums

-- accept
SELECT DECODE(sex, 0, 'female', 1, 'male', 'unknown') AS s, COUNT(*) FROM pums GROUP BY 1

-- accept
SELECT AVG(NVL(income, 0)), AVG(IFNULL(income, 0)), AVG(COALESCE(income, 0)) FROM pums

-- accept
SELECT AVG(ZEROIFNULL(income)), COUNT(NULLIFZERO(age)) FROM pums

-- accept
SELECT NVL2(income, 'known', 'unknown') AS k, COUNT(*) FROM pums GROUP BY 1

-- accept
SELECT WIDTH_BUCKET(age, 0, 100, 10) AS b, COUNT(*) FROM pums GROUP BY b ORDER BY b

-- accept
SELECT HISTOGRAM(age, 10) FROM pums

-- accept
SELECT COUNT(*) FROM pums WHERE MOD(age, 2) = 0

-- accept
SELECT COUNT(*) FROM pums WHERE age % 2 = 0 AND SIGN(income) = 1

-- accept
SELECT COUNT(*) FROM pums WHERE age BETWEEN SYMMETRIC 65 AND 18

-- accept
SELECT LEAST(age, 90) AS a, COUNT(*) FROM pums GROUP BY 1

-- accept
SELECT SUM(LEAST(GREATEST(income, 0), 100000)) FROM pums

-- accept
SELECT COUNT(*) FROM pums WHERE state ILIKE 'new%'

-- accept
SELECT COUNT(*) FROM pums WHERE REGEXP_LIKE(state, '^New ')

-- accept
SELECT COUNT(*) FROM pums WHERE state ~ '^(CA|NY|TX)$'

-- accept
SELECT COUNT(*) FROM pums WHERE REGEXP_CONTAINS(state, r'^[A-M]')
-- dialect=bigquery

-- accept
SELECT COUNT(*) FROM pums WHERE state RLIKE 'A.*'
-- dialect=spark

-- accept
SELECT race, COUNT(*) AS n FROM pums GROUP BY race ORDER BY n DESC LIMIT 3 OFFSET 1

-- accept
SELECT race, COUNT(*) AS n FROM pums GROUP BY race ORDER BY n DESC FETCH FIRST 3 ROWS ONLY

-- accept
SELECT "race", COUNT(*) FROM "pums" GROUP BY "race"

-- accept
SELECT `race`, COUNT(*) FROM `pums` GROUP BY `race`

-- accept
SELECT [race], COUNT(*) FROM [pums] GROUP BY [race]

-- accept
SELECT p.race, COUNT(*) FROM pums AS p WHERE p.age >= 21 GROUP BY p.race

-- accept
WITH adults AS (SELECT * FROM pums WHERE age >= 18) SELECT AVG(income) FROM adults

-- accept
SELECT AVG(income) FROM (SELECT income FROM pums WHERE sex = 1) AS men

-- accept
SELECT CORR(age, income), COVAR_POP(age, income), COVAR_SAMP(age, income) FROM pums

-- accept
SELECT SKEWNESS_OF FROM (SELECT AVG(age) AS SKEWNESS_OF FROM pums) AS t

-- accept
SELECT n / 2 AS half FROM (SELECT COUNT(*) AS n FROM pums) AS t

-- accept
WITH c AS (SELECT sex, COUNT(*) AS n FROM pums GROUP BY sex) SELECT sex, n, RANK() OVER (ORDER BY n DESC) AS r FROM c

-- accept
WITH c AS (SELECT sex, COUNT(*) AS n FROM pums GROUP BY sex) SELECT SUM(n) FROM c

-- accept
WITH c AS (SELECT sex, COUNT(*) AS n FROM pums GROUP BY sex), t AS (SELECT COUNT(*) AS n FROM pums) SELECT c.sex, c.n * 100.0 / t.n AS percent FROM c CROSS JOIN t

-- accept
SELECT sex, educ, COUNT(*) FROM pums GROUP BY ROLLUP (sex, educ)

-- accept
SELECT sex, race, COUNT(*) FROM pums GROUP BY CUBE (sex, race)

-- accept
SELECT sex, race, AVG(income) FROM pums GROUP BY GROUPING SETS ((sex), (race), ())

-- accept
SELECT sex, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM pums GROUP BY sex

-- accept
SELECT MEAN(age) FROM pums

-- accept
SELECT COUNT(*) > 1000 AS large FROM pums

-- accept
SELECT ABS(AVG(age) - 40) FROM pums

-- accept
SELECT EXP(AVG(LN(GREATEST(income, 1)))) AS geometric FROM pums

-- accept
SELECT AVG(income)::INT FROM pums

-- accept
SELECT TRUNC(income, -3) AS thousands, COUNT(*) FROM pums GROUP BY 1

-- accept
SELECT SUM(SAFE_DIVIDE(income, age)) FROM (SELECT income, GREATEST(age, 1) AS age FROM pums) t

-- accept
SELECT CBRT(AVG(income)), LOG10(SUM(income)), LOG2(COUNT(*)) FROM pums

-- accept
SELECT DEGREES(AVG(age)), RADIANS(AVG(age)), PI() * AVG(age), SQUARE(AVG(age)) FROM pums

-- accept
SELECT COUNT(*) FROM pums WHERE age IS NOT NULL AND income <> 0 AND NOT (sex = 1 OR race != 3)

-- accept
SELECT COUNT(*) FROM pums WHERE ISNULL(income, 0) > 10

-- accept
SELECT COUNT(*) FROM pums HAVING COUNT(*) > 5

-- accept
SELECT ANY_VALUE(sex) AS s, sex, COUNT(*) FROM pums GROUP BY sex
-- danger

-- danger
SELECT * FROM pums

-- danger
SELECT pid, age FROM pums WHERE income > 400000

-- danger
SELECT income FROM pums ORDER BY income DESC LIMIT 1

-- danger
SELECT pid, COUNT(*) FROM pums GROUP BY pid

-- danger
SELECT ARRAY_AGG(income) FROM pums

-- danger
SELECT STRING_AGG(state, ',') FROM pums

-- danger
SELECT ANY_VALUE(income) FROM pums

-- danger
SELECT FIRST(income) FROM pums

-- danger
SELECT ARG_MAX(pid, income) FROM pums

-- danger
SELECT COUNT(*) FROM pums WHERE income > (SELECT AVG(income) FROM pums)

-- danger
SELECT ROW_NUMBER() OVER (ORDER BY income) FROM pums

-- danger
SELECT COUNT(*) FROM pums QUALIFY ROW_NUMBER() OVER (ORDER BY income) = 1

-- danger
SELECT COUNT(*) FROM (SELECT * FROM pums ORDER BY income LIMIT 10) AS t

-- danger
SELECT BOOL_OR(income > 400000) FROM pums

-- danger
SELECT COUNT(*) FROM pums WHERE RANDOM() < 0.5

-- danger
SELECT 1 / (COUNT(*) - COUNT(*)) FROM pums; DROP TABLE pums

-- danger
DELETE FROM pums

-- danger
SELECT COUNT(*) FROM read_csv('/etc/passwd')

-- unsupported
SELECT COUNT(*) FROM pums TABLESAMPLE BERNOULLI (10)

-- mistake
SELECT COUNT(*) FROM pums WHERE agee > 3

-- mistake
SELECT COUNT(* FROM pums

-- mistake
SELECT COUNT(*) FROM pumms

-- declaration
SELECT SUM(LENGTH(state)) FROM pums
