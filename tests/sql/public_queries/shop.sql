# orders and customers: everyday analysts, Snowflake, AWS Clean Rooms, Qrlew

-- accept
SELECT SUM(amount) AS revenue FROM orders

-- accept
SELECT status, COUNT(*) AS orders, SUM(amount) AS revenue, AVG(amount) AS basket FROM orders GROUP BY status ORDER BY revenue DESC

-- accept
SELECT DATE_TRUNC('month', order_date) AS month, SUM(amount) FROM orders GROUP BY 1 ORDER BY 1

-- accept
SELECT DATE_TRUNC(order_date, MONTH) AS month, SUM(amount) FROM orders GROUP BY month
-- dialect=bigquery

-- accept
SELECT TIMESTAMP_TRUNC(ordered_at, HOUR) AS h, COUNT(*) FROM orders WHERE order_date = '2024-03-01' GROUP BY h
-- dialect=bigquery

-- accept
SELECT DATETIME_TRUNC(ordered_at, DAY) AS d, COUNT(*) FROM orders GROUP BY d
-- dialect=bigquery

-- accept
SELECT EXTRACT(YEAR FROM order_date) AS y, COUNT(*) FROM orders GROUP BY y

-- accept
SELECT YEAR(order_date) AS y, MONTH(order_date) AS m, COUNT(*) FROM orders GROUP BY 1, 2

-- accept
SELECT DATE_PART('dow', order_date) AS weekday, COUNT(*) FROM orders GROUP BY weekday

-- accept
SELECT DATEPART(year, order_date) AS y, COUNT(*) FROM orders GROUP BY DATEPART(year, order_date)

-- accept
SELECT DAYOFWEEK(order_date) AS d, COUNT(*) FROM orders GROUP BY d
-- dialect=snowflake

-- accept
SELECT STRFTIME(order_date, '%Y-%m') AS month, COUNT(*) FROM orders GROUP BY month

-- accept
SELECT TO_CHAR(order_date, 'YYYY-MM') AS month, COUNT(*) FROM orders GROUP BY month
-- dialect=postgres

-- accept
SELECT FORMAT_DATE('%Y-%m', order_date) AS month, COUNT(*) FROM orders GROUP BY month
-- dialect=bigquery

-- accept
SELECT DATE_FORMAT(order_date, 'yyyy-MM') AS month, COUNT(*) FROM orders GROUP BY month
-- dialect=spark

-- accept
SELECT MONTHNAME(order_date) AS m, COUNT(*) FROM orders GROUP BY m

-- accept
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2024-01-01' AND order_date < DATE '2024-02-01'

-- accept
SELECT COUNT(*) FROM orders WHERE order_date BETWEEN '2024-01-01' AND '2024-03-31'

-- accept
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2024-12-31' - INTERVAL '30 days'
-- dialect=postgres

-- accept
SELECT COUNT(*) FROM orders WHERE order_date >= DATEADD(day, -30, DATE '2024-12-31')

-- accept
SELECT COUNT(*) FROM orders WHERE order_date >= DATE_SUB(DATE '2024-12-31', INTERVAL 30 DAY)
-- dialect=bigquery

-- accept
SELECT AVG(DATE_DIFF('day', signup_date, DATE '2024-12-31')) FROM customers

-- accept
SELECT AVG(DATEDIFF(day, signup_date, DATE '2024-12-31')) FROM customers

-- accept
SELECT AVG(DATEDIFF('month', signup_date, DATE '2024-12-31')) FROM customers

-- accept
SELECT DATE_DIFF('year', signup_date, DATE '2024-12-31') AS years, COUNT(*) FROM customers GROUP BY 1

-- accept
SELECT AVG(DATE_DIFF(DATE '2024-12-31', signup_date, WEEK)) FROM customers
-- dialect=bigquery

-- accept
SELECT region, COUNT(*) FROM customers GROUP BY region

-- accept
SELECT region, segment, COUNT(*) AS customers FROM customers GROUP BY region, segment HAVING COUNT(*) >= 50

-- accept
SELECT c.region, SUM(o.amount) AS revenue FROM customers c JOIN orders o ON c.customer_id = o.customer_id GROUP BY c.region

-- accept
SELECT c.region, SUM(o.amount) AS revenue FROM customers c JOIN orders o ON (c.customer_id = o.customer_id) GROUP BY c.region

-- accept
SELECT region, SUM(amount) FROM customers JOIN orders USING (customer_id) GROUP BY region

-- accept
SELECT c.region, COUNT(*) FROM customers c, orders o WHERE c.customer_id = o.customer_id GROUP BY c.region

-- accept
SELECT c.region, COUNT(*) FROM (customers c JOIN orders o ON c.customer_id = o.customer_id) GROUP BY c.region

-- accept
SELECT p.category, SUM(o.amount) FROM orders o JOIN products p ON o.product_id = p.product_id GROUP BY p.category

-- accept
SELECT p.category, c.region, COUNT(DISTINCT o.customer_id) FROM orders o INNER JOIN customers c ON c.customer_id = o.customer_id INNER JOIN products p ON p.product_id = o.product_id GROUP BY p.category, c.region

-- accept
SELECT COUNT(DISTINCT customer_id) FROM orders WHERE amount > 100

-- accept
SELECT COUNT(DISTINCT city) FROM orders

-- accept
SELECT status, COUNT(DISTINCT product_id) FROM orders GROUP BY status

-- accept
SELECT APPROX_COUNT_DISTINCT(product_id) FROM orders

-- accept
SELECT APPROX_COUNT_DISTINCT(customer_id) FROM orders

-- accept
SELECT APPROX_DISTINCT(customer_id), HLL(customer_id) FROM orders

-- accept
SELECT SUM(DISTINCT priority) FROM orders

-- accept
SELECT AVG(n) FROM (SELECT customer_id, CLAMP(COUNT(*), 0, 50) AS n FROM orders GROUP BY customer_id) AS t

-- accept
SELECT AVG(n) AS orders_per_customer FROM (SELECT customer_id, LEAST(COUNT(*), 50) AS n FROM orders GROUP BY customer_id) AS per

-- accept
WITH per AS (SELECT customer_id, LEAST(SUM(amount), 5000) AS spent FROM orders GROUP BY customer_id) SELECT COUNT(*) FROM per WHERE spent > 1000

-- accept
SELECT COUNT(*) FROM customers WHERE customer_id IN (SELECT customer_id FROM orders WHERE amount > 500)

-- accept
SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id)

-- accept
SELECT COUNT(*) FROM orders WHERE product_id IN (SELECT product_id FROM products WHERE category = 'books')

-- accept
SELECT COUNT(*) FROM customers c LEFT SEMI JOIN orders o ON c.customer_id = o.customer_id
-- dialect=spark

-- accept
SELECT COUNT(*) FROM (SELECT customer_id FROM orders UNION ALL SELECT customer_id FROM customers) AS everything

-- accept
SELECT order_id, COUNT(*) FROM orders GROUP BY order_id

-- accept
SELECT product_id, COUNT(*) AS n FROM orders GROUP BY product_id ORDER BY n DESC LIMIT 10

-- accept
SELECT AVG(gap) FROM (SELECT DATE_DIFF('day', LAG(order_date) OVER (PARTITION BY customer_id ORDER BY order_date), order_date) AS gap FROM orders) AS t

-- accept
WITH m AS (SELECT DATE_TRUNC('month', order_date) AS month, SUM(amount) AS s FROM orders GROUP BY 1) SELECT month, s, s - LAG(s) OVER (ORDER BY month) AS change FROM m

-- accept
WITH m AS (SELECT DATE_TRUNC('month', order_date) AS month, SUM(amount) AS s FROM orders GROUP BY 1) SELECT month, SUM(s) OVER (ORDER BY month) AS running FROM m

-- accept
SELECT COUNT(*) FROM orders WHERE returned = TRUE

-- accept
SELECT COUNT(*) FROM orders WHERE returned = 1

-- accept
SELECT COUNT(*) FROM orders WHERE returned <> 0

-- accept
SELECT COUNT(*) FROM orders WHERE returned

-- accept
SELECT COUNT(*) FROM orders WHERE NOT returned AND coupon IS NULL

-- accept
SELECT returned IS TRUE AS r, COUNT(*) FROM orders GROUP BY 1

-- accept
SELECT SUM(amount * quantity) FROM orders

-- accept
SELECT SUM(amount * (1 - discount)) AS net FROM orders WHERE order_date <= DATE '2024-09-02'

-- accept
SELECT AVG(amount) FROM orders WHERE city = 'Berlin'

-- accept
SELECT city, COUNT(*) FROM orders GROUP BY city ORDER BY 2 DESC LIMIT 20

-- accept
SELECT UPPER(city) AS city, COUNT(*) FROM orders GROUP BY UPPER(city)

-- accept
SELECT LEFT(city, 1) AS letter, COUNT(*) FROM orders GROUP BY letter

-- accept
SELECT SUBSTR(coupon, 1, 3) AS kind, COUNT(*) FROM orders GROUP BY kind

-- accept
SELECT SPLIT_PART(coupon, '-', 1) AS kind, COUNT(*) FROM orders GROUP BY kind

-- accept
SELECT SPLIT(coupon, '-')[SAFE_OFFSET(0)] AS kind, COUNT(*) FROM orders GROUP BY kind
-- dialect=bigquery

-- accept
SELECT COUNT(*) FROM orders WHERE coupon LIKE 'SUMMER%' OR coupon NOT LIKE '%X'

-- accept
SELECT COUNT(*) FROM orders WHERE CONTAINS(coupon, 'SALE')

-- accept
SELECT COUNT(*) FROM orders WHERE POSITION('SALE' IN coupon) > 0

-- accept
SELECT COUNT(*) FROM orders WHERE STRPOS(coupon, 'SALE') > 0 OR INSTR(coupon, 'X') = 1

-- accept
SELECT COUNT(*) FROM orders WHERE CHARINDEX('SALE', coupon) > 0

-- accept
SELECT COUNT(*) FROM orders WHERE STARTS_WITH(coupon, 'A') AND NOT ENDSWITH(coupon, 'Z')

-- accept
SELECT COUNT(*) FROM orders WHERE STARTSWITH(coupon, 'A')

-- accept
SELECT CONCAT(status, '/', CAST(priority AS VARCHAR)) AS k, COUNT(*) FROM orders GROUP BY k

-- accept
SELECT status || '-' || priority AS k, COUNT(*) FROM orders GROUP BY 1

-- accept
SELECT CONCAT_WS('/', status, city) AS k, COUNT(*) FROM orders GROUP BY 1

-- accept
SELECT INITCAP(city) AS k, COUNT(*) FROM orders GROUP BY 1
-- unsupported

-- accept
SELECT REPLACE(TRIM(city), ' ', '_') AS k, COUNT(*) FROM orders GROUP BY 1

-- accept
SELECT LENGTH(coupon) > 5 AS l, COUNT(*) FROM orders GROUP BY 1

-- accept
SELECT CHAR_LENGTH(coupon) > 5 AS l, LEN(coupon) = 2 AS m, COUNT(*) FROM orders GROUP BY 1, 2

-- accept
SELECT COUNT(*) FROM orders WHERE coupon ~* 'sale[0-9]+'
-- dialect=postgres

-- accept
SELECT COUNT(*) FROM orders WHERE coupon SIMILAR TO '(A|B)%'
-- dialect=postgres

-- accept
SELECT COUNT(*) FROM orders WHERE REGEXP_MATCHES(coupon, '^[A-Z]{3}[0-9]{2,4}$')

-- accept
SELECT SUM(SAFE_CAST(coupon AS INT64)) FROM (SELECT CLAMP(SAFE_CAST(coupon AS INT64), 0, 9) AS coupon FROM (SELECT coupon FROM orders) AS a) AS b
-- dialect=bigquery

-- accept
SELECT AVG(CLAMP(TRY_CAST(coupon AS INTEGER), 0, 100)) FROM orders

-- accept
SELECT AVG(CLAMP(SAFE_CAST(coupon AS FLOAT64), 0, 100)) FROM orders
-- dialect=bigquery

-- accept
SELECT SAFE_MULTIPLY(SUM(quantity), 2), SAFE_ADD(COUNT(*), 1), SAFE_SUBTRACT(COUNT(*), 1), SAFE_NEGATE(COUNT(*)) FROM orders
-- dialect=bigquery

-- accept
SELECT status, APPROX_QUANTILES(amount, 4) FROM orders GROUP BY status

-- accept
SELECT APPROX_PERCENTILE(amount, 0.5), APPROX_QUANTILE(amount, 0.9) FROM orders

-- accept
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY amount), PERCENTILE_DISC(0.75) WITHIN GROUP (ORDER BY amount) FROM orders

-- accept
SELECT PERCENTILE(amount, 0.5), PERCENTILE_APPROX(amount, 0.5) FROM orders
-- dialect=spark

-- accept
SELECT APPROX_MEDIAN(amount), MEDIAN(amount) FROM orders

-- accept
SELECT MODE(status), APPROX_TOP_K(city, 5) FROM orders
-- declaration

-- accept
SELECT MODE() WITHIN GROUP (ORDER BY priority) FROM orders

-- accept
SELECT APPROX_TOP_COUNT(status, 2) FROM orders
-- dialect=bigquery

-- accept
SELECT priority, COUNT(*) FROM orders WHERE priority BETWEEN 2 AND 4 GROUP BY priority LIMIT 2

-- accept
SELECT CASE priority WHEN 1 THEN 'urgent' WHEN 2 THEN 'high' ELSE 'other' END AS p, SUM(amount) FROM orders GROUP BY 1

-- accept
SELECT status, 100.0 * COUNT_IF(returned) / COUNT(*) AS return_rate FROM orders GROUP BY status

-- accept
SELECT SUM(CASE WHEN status = 'returned' THEN amount END) / NULLIF(SUM(amount), 0) AS share FROM orders

-- accept
SELECT DIV0(SUM(amount), COUNT(*)) FROM orders
-- dialect=snowflake

-- accept
SELECT COUNT(*)::FLOAT / 3 AS x FROM orders
-- dialect=snowflake

-- accept
SELECT status, AVG(amount) AS a FROM orders GROUP BY ALL

-- accept
SELECT MIN(order_date), MAX(order_date) FROM orders
-- unsupported

-- accept
SELECT MIN(amount), MAX(amount), SUM(amount), AVG(amount), COUNT(amount), STDDEV(amount), VARIANCE(amount) FROM orders

-- accept
SELECT HOUR(ordered_at) AS h, COUNT(*) FROM orders GROUP BY h ORDER BY h

-- accept
SELECT CAST(ordered_at AS DATE) AS d, SUM(amount) FROM orders GROUP BY d

-- accept
SELECT DATE(ordered_at) AS d, SUM(amount) FROM orders GROUP BY d

-- accept
SELECT TO_DATE(ordered_at) AS d, SUM(amount) FROM orders GROUP BY d
-- dialect=snowflake

-- accept
SELECT LAST_DAY(order_date) AS d, SUM(amount) FROM orders GROUP BY d

-- accept
SELECT QUARTER(order_date), WEEK(order_date), COUNT(*) FROM orders GROUP BY 1, 2

-- accept
SELECT DAYNAME(order_date) AS d, COUNT(*) FROM orders GROUP BY d

-- accept
SELECT TIME_TRUNC(ordered_at, HOUR) AS h, COUNT(*) FROM orders GROUP BY h
-- dialect=bigquery

-- accept
SELECT AGE(DATE '2024-12-31', signup_date) AS a, COUNT(*) FROM customers GROUP BY a
-- dialect=postgres
-- unsupported

-- accept
SELECT COUNT(*) FROM orders WHERE order_date IN (DATE '2024-01-01', DATE '2024-12-25')

-- accept
SELECT COUNT(*) FROM orders WHERE (status, priority) IN (('open', 1))
-- unsupported

-- accept
SELECT COUNT(*) FROM orders WHERE status = ANY(ARRAY['open', 'paid'])
-- dialect=postgres

-- accept
SELECT COUNT(*) FROM orders WHERE status IS DISTINCT FROM 'open' AND status <=> 'paid'
-- dialect=spark

-- accept
SELECT COUNT(*) FROM orders WHERE amount BETWEEN 10 AND 20 AND quantity >= 2 AND (city = 'Paris' OR city = 'Rome')

-- accept
SELECT segment, AVG(2024 - birth_year) AS age FROM customers GROUP BY segment

-- accept
SELECT CEIL(amount / 100.0) * 100 AS band, COUNT(*) FROM orders WHERE amount < 1000 GROUP BY band

-- accept
SELECT CEILING(AVG(amount)), FLOOR(AVG(amount)), TRUNCATE(AVG(amount), 1) FROM orders

-- accept
SELECT LEAST(SUM(amount), 1000000), GREATEST(COUNT(*), 0) FROM orders

-- accept
SELECT SUM(amount) AS s FROM orders WHERE amount > 0 LIMIT 1

-- accept
SELECT KURTOSIS(amount), SKEWNESS(amount) FROM orders
-- unsupported

-- accept
SELECT REGR_SLOPE(amount, quantity) FROM orders

-- danger
SELECT customer_id, SUM(amount) FROM orders GROUP BY customer_id

-- danger
SELECT order_id, amount FROM orders

-- danger
SELECT c.region, o.amount FROM customers c JOIN orders o USING (customer_id)

-- danger
SELECT MAX_BY(customer_id, amount) FROM orders

-- danger
SELECT email FROM customers

-- danger
SELECT COUNT(*) FROM customers WHERE email LIKE 'a%'

-- danger
SELECT COUNT(*) FROM orders o JOIN orders p ON o.city = p.city

-- danger
SELECT COUNT(*) FROM orders WHERE amount > (SELECT MAX(amount) FROM orders WHERE customer_id = 7)

-- danger
SELECT LISTAGG(city, ',') FROM orders

-- danger
SELECT COUNT(*) FROM orders, customers

-- danger
SELECT DISTINCT ON (customer_id) amount FROM orders

-- danger
SELECT COUNT(*) FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status HAVING COUNT(*) > 10) AS t JOIN orders USING (status)

-- danger
SELECT NOW(), COUNT(*) FROM orders

-- danger
SELECT COUNT(*) FROM information_schema.tables

-- danger
INSERT INTO orders VALUES (1)
