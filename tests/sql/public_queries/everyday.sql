# what tools for dashboards write (Metabase, Tableau, Looker, Superset), and analysts with them

-- accept
SELECT "public"."orders"."status" AS "status", COUNT(*) AS "count" FROM "public"."orders" GROUP BY "public"."orders"."status" ORDER BY "public"."orders"."status" ASC

-- accept
SELECT DATE_TRUNC('month', "public"."orders"."ordered_at") AS "ordered_at", COUNT(*) AS "count" FROM "public"."orders" GROUP BY DATE_TRUNC('month', "public"."orders"."ordered_at") ORDER BY DATE_TRUNC('month', "public"."orders"."ordered_at") ASC
-- dialect=postgres

-- accept
SELECT CAST("orders"."ordered_at" AS date) AS "d", SUM("orders"."amount") AS "sum" FROM "orders" WHERE "orders"."ordered_at" >= CAST('2024-01-01 00:00:00' AS TIMESTAMP) GROUP BY CAST("orders"."ordered_at" AS date)

-- accept
SELECT "source"."d" AS "d", COUNT(*) AS "count" FROM (SELECT DATE_TRUNC('day', "orders"."ordered_at") AS "d", "orders"."amount" AS "amount" FROM "orders") AS "source" WHERE "source"."amount" > 10 GROUP BY "source"."d" ORDER BY "source"."d" ASC

-- accept
SELECT "Products"."category" AS "Products__category", AVG("orders"."amount") AS "avg" FROM "orders" LEFT JOIN "products" AS "Products" ON "orders"."product_id" = "Products"."product_id" GROUP BY "Products"."category" ORDER BY "avg" DESC, "Products"."category" ASC

-- accept
SELECT FLOOR(("orders"."amount" / 12.5)) * 12.5 AS "amount", COUNT(*) AS "count" FROM "orders" GROUP BY FLOOR(("orders"."amount" / 12.5)) * 12.5 ORDER BY 1

-- accept
SELECT COUNT(*) AS "count", COUNT(DISTINCT "orders"."customer_id") AS "count_2", SUM("orders"."amount") AS "sum", CAST(SUM(CASE WHEN "orders"."returned" = TRUE THEN 1 ELSE 0.0 END) AS FLOAT) / CASE WHEN COUNT(*) = 0 THEN NULL ELSE COUNT(*) END AS "share" FROM "orders"

-- accept
SELECT SUM(1) AS "cnt:orders:ok", "orders"."status" AS "status" FROM "orders" "orders" GROUP BY 2

-- accept
SELECT SUM("orders"."amount") AS "sum:amount:ok", CAST(EXTRACT(YEAR FROM "orders"."order_date") AS INTEGER) AS "yr:order_date:ok" FROM "orders" GROUP BY 2 HAVING (COUNT(1) > 0)

-- accept
SELECT CAST(TRUNC(EXTRACT(QUARTER FROM "orders"."order_date")) AS INTEGER) AS "qr", COUNT(1) AS n FROM "orders" GROUP BY 1

-- accept
SELECT orders.status AS "orders.status", COUNT(*) AS "orders.count", COALESCE(SUM(orders.amount), 0) AS "orders.total" FROM orders AS orders GROUP BY 1 ORDER BY 2 DESC LIMIT 500

-- accept
SELECT COUNT(DISTINCT CASE WHEN orders.status = 'paid' THEN orders.customer_id ELSE NULL END) AS buyers FROM orders

-- accept
SELECT DATE_TRUNC('week', order_date)::date AS wk, SUM(amount) AS "SUM(amount)" FROM orders WHERE order_date >= '2023-01-01' AND order_date < '2024-01-01' GROUP BY DATE_TRUNC('week', order_date)::date ORDER BY "SUM(amount)" DESC LIMIT 10000

-- accept
SELECT (CASE WHEN (orders.amount < 50) THEN 'small' WHEN ((orders.amount >= 50) AND (orders.amount < 200)) THEN 'medium' ELSE 'large' END) AS size, SUM(orders.amount) FROM orders GROUP BY (CASE WHEN (orders.amount < 50) THEN 'small' WHEN ((orders.amount >= 50) AND (orders.amount < 200)) THEN 'medium' ELSE 'large' END)

-- accept
SELECT COUNT(*) FROM orders WHERE status <> 'open' AND status IS NOT NULL AND (1 = 1)

-- accept
SELECT COUNT(*) FROM orders WHERE TRUE

-- accept
SELECT COUNT(*) FROM orders WHERE 1 = 1 AND amount > 5

-- accept
SELECT COUNT(ALL amount), SUM(ALL amount) FROM orders

-- accept
SELECT status, SUM(amount) AS s, SUM(SUM(amount)) OVER () AS total, SUM(amount) / SUM(SUM(amount)) OVER () AS share FROM orders GROUP BY status

-- accept
SELECT status, COUNT(*) AS n, RATIO_TO_REPORT(COUNT(*)) OVER () AS share FROM orders GROUP BY status
-- dialect=snowflake

-- accept
SELECT DATE_TRUNC('month', order_date) AS m, COUNT(*) AS n, AVG(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', order_date) ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS smooth FROM orders GROUP BY 1

-- accept
SELECT status, priority, COUNT(*) AS n, ROW_NUMBER() OVER (PARTITION BY status ORDER BY COUNT(*) DESC) AS k FROM orders GROUP BY status, priority QUALIFY k <= 2

-- accept
SELECT * FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) AS t ORDER BY n DESC

-- accept
SELECT t.*, n * 2 AS twice FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) AS t

-- accept
SELECT status, n FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) UNION ALL SELECT 'all', COUNT(*) FROM orders

-- accept
SELECT COUNT(*) AS n FROM orders UNION ALL SELECT COUNT(*) FROM customers

-- accept
WITH a AS (SELECT status AS k, COUNT(*) AS n FROM orders GROUP BY status), b AS (SELECT region AS k, COUNT(*) AS n FROM customers GROUP BY region) SELECT * FROM a UNION ALL SELECT * FROM b ORDER BY n DESC

-- accept
SELECT (SELECT COUNT(*) FROM orders WHERE returned) AS back, (SELECT COUNT(*) FROM orders) AS everything

-- accept
SELECT COUNT(*) AS n, (SELECT COUNT(*) FROM customers) AS people FROM orders

-- accept
SELECT status, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM orders) AS percent FROM orders GROUP BY status

-- accept
SELECT status, AVG(amount) FROM orders GROUP BY status HAVING AVG(amount) > (SELECT AVG(amount) FROM orders)

-- accept
WITH daily AS (SELECT order_date AS d, COUNT(*) AS n FROM orders GROUP BY order_date) SELECT AVG(n), STDDEV(n), MIN(n), MAX(n) FROM daily

-- accept
WITH firsts AS (SELECT customer_id, MIN(order_date) AS first_day FROM orders GROUP BY customer_id) SELECT DATE_TRUNC('month', first_day) AS cohort, COUNT(*) FROM firsts GROUP BY 1

-- accept
WITH firsts AS (SELECT customer_id, MIN(order_date) AS first_day FROM orders GROUP BY customer_id) SELECT DATE_DIFF('month', f.first_day, o.order_date) AS age, COUNT(DISTINCT o.customer_id) AS active FROM orders o JOIN firsts f ON o.customer_id = f.customer_id GROUP BY 1

-- accept
SELECT region, AVG(n) FROM customers c JOIN (SELECT customer_id, LEAST(COUNT(*), 30) AS n FROM orders GROUP BY customer_id) o ON c.customer_id = o.customer_id GROUP BY region

-- accept
SELECT c.region, COUNT(o.order_id) AS orders FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id GROUP BY c.region

-- accept
SELECT COUNT(*) FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id WHERE o.customer_id IS NULL

-- accept
SELECT COUNT(*) FROM customers WHERE customer_id NOT IN (SELECT customer_id FROM orders)

-- accept
SELECT COUNT(*) FROM customers c WHERE NOT EXISTS (SELECT * FROM orders o WHERE o.customer_id = c.customer_id AND o.status = 'returned')

-- accept
SELECT region, COUNT(*) FROM customers NATURAL JOIN orders GROUP BY region

-- accept
SELECT COUNT(DISTINCT customer_id) FROM (SELECT customer_id FROM orders UNION SELECT user_id FROM impressions) AS people

-- accept
SELECT COUNT(*) FROM (SELECT customer_id FROM orders INTERSECT SELECT user_id FROM impressions) AS both_of_them

-- accept
SELECT COUNT(*) FROM (SELECT customer_id FROM customers EXCEPT SELECT customer_id FROM orders) AS quiet

-- accept
SELECT AVG(running) FROM (SELECT customer_id, SUM(amount) OVER (PARTITION BY customer_id ORDER BY order_date) AS running FROM orders) AS t

-- accept
SELECT status, AVG(LEAST(running, 1000)) FROM (SELECT status, SUM(amount) OVER (PARTITION BY customer_id ORDER BY ordered_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM orders) AS t GROUP BY status

-- accept
SELECT AVG(CLAMP(share, 0, 1)) FROM (SELECT amount / SUM(amount) OVER (PARTITION BY customer_id) AS share FROM orders) AS t

-- accept
SELECT COUNT(*) FROM (SELECT FIRST_VALUE(status) OVER (PARTITION BY customer_id ORDER BY ordered_at) AS s FROM orders) AS t WHERE s = 'paid'

-- accept
SELECT COUNT(*) FROM (SELECT amount, AVG(amount) OVER (PARTITION BY customer_id ORDER BY ordered_at ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS before FROM orders) AS t WHERE amount > before

-- accept
SELECT COUNT(*) FROM (SELECT customer_id, NTILE(4) OVER (PARTITION BY customer_id ORDER BY amount) AS q FROM orders) AS t WHERE q = 1

-- accept
SELECT s1.status, COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY ordered_at DESC) AS rn FROM orders) s1 WHERE s1.rn = 1 GROUP BY s1.status

-- accept
SELECT DATE_TRUNC('month', order_date) AS m, SUM(amount) FILTER (WHERE status = 'paid') AS paid, SUM(amount) FILTER (WHERE status = 'open') AS open FROM orders GROUP BY m

-- accept
SELECT * FROM (SELECT status, priority FROM orders) PIVOT (COUNT(*) FOR status IN ('open', 'paid'))
-- unsupported

-- accept
SELECT EXTRACT(ISODOW FROM order_date) AS d, COUNT(*) FROM orders GROUP BY d

-- accept
SELECT TO_CHAR(order_date, 'Mon') AS m, TO_CHAR(order_date, 'Day') AS d, COUNT(*) FROM orders GROUP BY 1, 2
-- dialect=postgres
-- unsupported

-- accept
SELECT FORMAT_TIMESTAMP('%H', ordered_at) AS h, COUNT(*) FROM orders GROUP BY h
-- dialect=bigquery
-- unsupported

-- accept
SELECT PARSE_DATE('%Y-%m-%d', coupon) IS NULL AS bad, COUNT(*) FROM orders GROUP BY bad
-- dialect=bigquery
-- unsupported

-- accept
SELECT DATE(2024, 1, 1) AS d, COUNT(*) FROM orders WHERE order_date > DATE(2024, 1, 1)
-- dialect=bigquery

-- accept
SELECT UNIX_SECONDS(ordered_at) > 1700000000 AS late, COUNT(*) FROM orders GROUP BY late
-- dialect=bigquery
-- unsupported

-- accept
SELECT DATEDIFF(DATE '2024-12-31', order_date) AS age, COUNT(*) FROM orders GROUP BY age
-- dialect=spark

-- accept
SELECT DATE_ADD(order_date, 7) AS due, COUNT(*) FROM orders GROUP BY due
-- dialect=spark

-- accept
SELECT TRUNC(order_date, 'MM') AS m, COUNT(*) FROM orders GROUP BY m
-- dialect=spark

-- accept
SELECT COUNT(*) FROM orders WHERE order_date > DATE '2024-01-01' + 30

-- accept
SELECT COUNT(*) FROM orders WHERE ordered_at > TIMESTAMP '2024-01-01 00:00:00' + INTERVAL '1' DAY

-- accept
SELECT COUNT(*) FROM orders WHERE order_date BETWEEN DATE '2024-06-01' - INTERVAL 3 MONTH AND DATE '2024-06-01'

-- accept
SELECT TIME_SLICE(ordered_at, 15, 'MINUTE') AS t, COUNT(*) FROM orders GROUP BY t
-- dialect=snowflake
-- unsupported

-- accept
SELECT DATE_BIN(INTERVAL '15 minutes', ordered_at, TIMESTAMP '2022-01-01') AS t, COUNT(*) FROM orders GROUP BY t
-- dialect=postgres
-- unsupported

-- accept
SELECT TIME_BUCKET(INTERVAL '1 day', ordered_at) AS t, COUNT(*) FROM orders GROUP BY t
-- unsupported

-- accept
SELECT WEEKDAY(order_date) AS w, WEEKOFYEAR(order_date) AS k, DAYOFYEAR(order_date) AS y, COUNT(*) FROM orders GROUP BY 1, 2, 3
-- dialect=spark

-- accept
SELECT IF(amount > 100, 'big', 'small') AS size, COUNT(*) FROM orders GROUP BY size

-- accept
SELECT COUNT(*) FROM orders WHERE LOWER(TRIM(coupon)) = 'summer' AND LENGTH(coupon) BETWEEN 1 AND 20

-- accept
SELECT REGEXP_REPLACE(city, '[^A-Za-z]', '') AS c, COUNT(*) FROM orders GROUP BY c
-- unsupported

-- accept
SELECT REGEXP_SUBSTR(coupon, '[0-9]+') AS c, COUNT(*) FROM orders GROUP BY c
-- dialect=snowflake
-- unsupported

-- accept
SELECT REVERSE(coupon) AS c, COUNT(*) FROM orders GROUP BY c
-- unsupported

-- accept
SELECT REPEAT('x', 3) || status AS c, COUNT(*) FROM orders GROUP BY c
-- unsupported

-- accept
SELECT TRANSLATE(coupon, '-_', '  ') AS c, COUNT(*) FROM orders GROUP BY c
-- unsupported

-- accept
SELECT ASCII(LEFT(city, 1)) AS a, COUNT(*) FROM orders GROUP BY a
-- unsupported

-- accept
SELECT MD5(city) AS c, COUNT(*) FROM orders GROUP BY c
-- unsupported

-- accept
SELECT LTRIM(city) AS l, RTRIM(city) AS r, BTRIM(city, 'x') AS b, COUNT(*) FROM orders GROUP BY 1, 2, 3
-- unsupported

-- accept
SELECT COUNT(*) FROM orders WHERE city LIKE ANY ('B%', 'P%')
-- dialect=snowflake

-- accept
SELECT COUNT(*) FROM orders WHERE city NOT ILIKE '%berlin%' AND city NOT IN ('Rome', 'Paris')

-- accept
SELECT COUNT(*) FROM orders WHERE COALESCE(coupon, '') = '' OR coupon = ''

-- accept
SELECT COUNT(*) FROM orders WHERE quantity & 1 = 1
-- unsupported

-- accept
SELECT COUNT(*) FROM orders WHERE quantity IN (1, 2, 3) AND NOT (priority NOT IN (1, 2))

-- accept
SELECT COUNT_IF(status = 'paid') / NULLIF(COUNT(*), 0) AS rate, AVG(IFF(returned, 1, 0)) AS back FROM orders

-- accept
SELECT AVG(CAST(returned AS INT)) FROM orders

-- accept
SELECT AVG(returned::INT), SUM(returned::INT) FROM orders

-- accept
SELECT AVG(amount) AS mean, AVG(amount) - 1.96 * STDDEV(amount) / SQRT(COUNT(*)) AS low, AVG(amount) + 1.96 * STDDEV(amount) / SQRT(COUNT(*)) AS high FROM orders

-- accept
SELECT REGR_SLOPE(amount, quantity), REGR_INTERCEPT(amount, quantity), REGR_R2(amount, quantity), REGR_COUNT(amount, quantity) FROM orders

-- accept
SELECT SKEWNESS(amount) FROM orders
-- unsupported

-- accept
SELECT GEOMEAN(quantity) FROM orders

-- accept
SELECT MAD(amount) FROM orders
-- unsupported

-- accept
SELECT ENTROPY(status) FROM orders
-- unsupported

-- accept
SELECT APPROX_QUANTILES(amount, 100)[OFFSET(50)] FROM orders
-- dialect=bigquery

-- accept
SELECT PERCENTILE_CONT(amount, 0.5) OVER () FROM orders LIMIT 1
-- dialect=bigquery
-- danger

-- accept
SELECT QUANTILE_CONT(amount, [0.25, 0.5, 0.75]) FROM orders

-- accept
SELECT APPROX_COUNT_DISTINCT(city) AS c, COUNT(DISTINCT LOWER(city)) AS d FROM orders

-- accept
SELECT COUNT(DISTINCT city, status) FROM orders

-- accept
SELECT COUNT(DISTINCT (city, status)) FROM orders

-- accept
SELECT COUNT(DISTINCT city) FILTER (WHERE status = 'paid') FROM orders

-- accept
SELECT status, SUM(amount) AS total FROM orders GROUP BY status ORDER BY SUM(amount) DESC, status LIMIT 3

-- accept
SELECT o.status, COUNT(*) FROM orders o JOIN products p USING (product_id) WHERE p.price > 100 AND o.amount >= p.price GROUP BY o.status

-- accept
SELECT p.name, SUM(o.quantity * p.price) AS revenue FROM orders o JOIN products p ON p.product_id = o.product_id GROUP BY p.name ORDER BY revenue DESC LIMIT 10

-- accept
SELECT status, COUNT(*) FROM orders WHERE product_id IN (1, 2, 3) OR product_id BETWEEN 10 AND 20 GROUP BY 1

-- accept
SELECT CASE WHEN returned THEN 'back' ELSE 'kept' END AS k, region, COUNT(*) FROM orders JOIN customers USING (customer_id) GROUP BY 1, 2

-- accept
FROM orders SELECT status, COUNT(*) GROUP BY status

-- accept
SELECT status s, COUNT(*) n FROM orders GROUP BY s ORDER BY n DESC

-- accept
SELECT COUNT(*) FROM orders AS o (a, b, c)
-- mistake

-- accept
SELECT d.month, COUNT(*) FROM (VALUES (1, 'Jan'), (2, 'Feb'), (3, 'Mar')) AS d (number, month) JOIN orders o ON EXTRACT(MONTH FROM o.order_date) = d.number GROUP BY d.month
-- danger

-- accept
SELECT k, COUNT(*) FROM orders JOIN UNNEST(['open', 'paid']) AS k ON orders.status = k GROUP BY k
-- dialect=bigquery
-- unsupported

-- danger
SELECT customer_id, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY amount) FROM orders

-- danger
SELECT city, amount FROM orders ORDER BY amount DESC LIMIT 5

-- danger
SELECT DISTINCT customer_id FROM orders

-- danger
SELECT COUNT(*) FROM orders WHERE amount >= (SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY amount) FROM orders)

-- danger
SELECT COUNT(*) FROM orders WHERE city IN (SELECT city FROM orders GROUP BY city HAVING COUNT(*) = 1)

-- danger
SELECT o.customer_id, p.customer_id FROM orders o JOIN orders p ON o.city = p.city AND o.order_id < p.order_id

-- danger
SELECT COUNT(*) FROM orders o CROSS JOIN customers c

-- danger
SELECT JSON_OBJECT_AGG(order_id, amount) FROM orders

-- danger
SELECT COPY FROM orders; COPY orders TO 'x.csv'

-- danger
SELECT COUNT(*) FROM orders o WHERE o.amount = (SELECT MAX(p.amount) FROM orders p WHERE p.city = o.city)

-- danger
SELECT AVG(amount) FROM orders GROUP BY customer_id

-- danger
SELECT SESSION_USER, COUNT(*) FROM orders

-- danger
SELECT SUM(amount) OVER (ORDER BY order_date) FROM orders
