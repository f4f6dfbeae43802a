# clauses of BigQuery, ZetaSQL, Snowflake and AWS about privacy itself; advertisements and trips

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = .01, privacy_unit_column = id) item, AVG(quantity) AS q FROM professors GROUP BY item

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=10, delta=.01, max_groups_contributed=2, privacy_unit_column=id) item, AVG(quantity, contribution_bounds_per_group => (0,100)) AS average_quantity FROM professors GROUP BY item

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (delta = .01, epsilon = 1) COUNT(*) FROM professors

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta=.01) COUNT(*, contribution_bounds_per_group => (0, 2)) AS n FROM professors

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY SUM(quantity) FROM professors

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, max_rows_contributed=3) COUNT(*) FROM professors

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, kappa=4) item, COUNT(*) FROM professors GROUP BY item

-- accept
SELECT WITH ANONYMIZATION OPTIONS(epsilon=1, delta=1e-5, kappa=4) item, ANON_COUNT(*) FROM professors GROUP BY item

-- accept
SELECT WITH ANONYMIZATION OPTIONS(epsilon=1, delta=1e-5) item, ANON_SUM(quantity CLAMPED BETWEEN 0 AND 50) AS q FROM professors GROUP BY item
-- declaration

-- accept
SELECT WITH ANONYMIZATION OPTIONS(epsilon=10, delta=.01) item, ANON_AVG(quantity CLAMPED BETWEEN 0 AND 100) FROM professors GROUP BY item

-- accept
SELECT ANON_COUNT(*), ANON_SUM(quantity), ANON_AVG(quantity) FROM professors

-- accept
SELECT ANON_VAR_POP(quantity), ANON_STDDEV_POP(quantity) FROM professors

-- accept
SELECT ANON_PERCENTILE_CONT(quantity, 0.5) FROM professors

-- accept
SELECT ANON_QUANTILES(quantity, 4) FROM professors

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) PERCENTILE_CONT(quantity, 0.5, contribution_bounds_per_row => (0, 100)) AS m FROM professors

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) APPROX_QUANTILES(quantity, 10) FROM professors

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, min_privacy_units_per_group = 50) item, COUNT(*) FROM professors GROUP BY item

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) item, COUNT(DISTINCT id) FROM professors WHERE quantity > 2 GROUP BY item

-- accept
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, group_selection_strategy = LAPLACE_THRESHOLD) item, COUNT(*) FROM professors GROUP BY item

-- unsupported
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, group_selection_strategy = PUBLIC_GROUPS) item, COUNT(*) FROM professors GROUP BY item

-- unsupported
SELECT WITH AGGREGATION_THRESHOLD OPTIONS (threshold = 50, privacy_unit_column = id) item, COUNT(*) FROM professors GROUP BY item

-- unsupported
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, flavour = 3) COUNT(*) FROM professors

-- danger
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = item) COUNT(*) FROM professors

-- danger
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) item, quantity FROM professors

-- accept
SELECT DP_COUNT(*), DP_SUM(quantity), DP_AVG(quantity) FROM professors

-- accept
SELECT item, COUNT(*) AS n, DP_INTERVAL_LOW(n), DP_INTERVAL_HIGH(n) FROM professors GROUP BY item
-- dialect=snowflake

-- accept
SELECT campaign, COUNT(*) AS impressions, COUNT(DISTINCT user_id) AS reach FROM impressions GROUP BY campaign

-- accept
SELECT campaign, COUNT_IF(clicked) / COUNT(*) AS ctr FROM impressions GROUP BY campaign

-- accept
SELECT campaign, SUM(CASE WHEN clicked THEN 1 ELSE 0 END) AS clicks FROM impressions GROUP BY campaign

-- accept
SELECT campaign, SUM(cost) AS spend FROM impressions WHERE seen_at >= TIMESTAMP '2024-03-01 00:00:00' GROUP BY campaign

-- accept
SELECT i.campaign, COUNT(DISTINCT o.customer_id) AS buyers FROM impressions i JOIN orders o ON i.user_id = o.customer_id GROUP BY i.campaign

-- accept
SELECT i.campaign, SUM(o.amount) FROM impressions i INNER JOIN orders o ON i.user_id = o.customer_id WHERE o.ordered_at > i.seen_at GROUP BY i.campaign

-- accept
SELECT c.region, COUNT(DISTINCT i.user_id) FROM impressions i LEFT JOIN customers c ON i.user_id = c.customer_id GROUP BY c.region

-- accept
SELECT device, COUNT(*) FROM impressions GROUP BY device HAVING COUNT(*) > 1000 ORDER BY COUNT(*) DESC

-- accept
SELECT EXTRACT(HOUR FROM seen_at) AS hour, AVG(cost) FROM impressions GROUP BY hour

-- accept
SELECT EXTRACT(DAYOFWEEK FROM seen_at) AS d, COUNT(*) FROM impressions GROUP BY d
-- dialect=bigquery

-- accept
SELECT EXTRACT(EPOCH FROM seen_at) > 1711929600 AS late, COUNT(*) FROM impressions GROUP BY 1

-- accept
SELECT COUNT(*) FROM impressions WHERE url LIKE 'https://%' AND url NOT LIKE '%.test/%'

-- accept
SELECT REGEXP_EXTRACT(url, '^https?://([^/]+)') AS host, COUNT(*) FROM impressions GROUP BY host
-- unsupported

-- accept
SELECT frequency, COUNT(*) FROM (SELECT user_id, LEAST(COUNT(*), 10) AS frequency FROM impressions GROUP BY user_id) AS f GROUP BY frequency

-- accept
SELECT campaign, COUNT(*) FROM impressions WHERE user_id NOT IN (SELECT customer_id FROM orders) GROUP BY campaign

-- accept
SELECT COUNT(*) FROM trips

-- accept
SELECT COUNT(*) FROM trips WHERE status = 'completed' AND fare > 20

-- accept
SELECT city_id, COUNT(*) FROM trips GROUP BY city_id

-- accept
SELECT c.name, COUNT(*) FROM trips t JOIN cities c ON t.city_id = c.city_id GROUP BY c.name

-- accept
SELECT c.country, AVG(t.fare) FROM trips t JOIN cities c ON t.city_id = c.city_id WHERE t.status = 'completed' GROUP BY c.country

-- accept
SELECT COUNT(DISTINCT rider_id) FROM trips WHERE requested_at >= '2024-01-01'

-- accept
SELECT COUNT(DISTINCT CASE WHEN fare > 100 THEN rider_id END) FROM trips

-- accept
SELECT DATE_TRUNC('week', requested_at) AS week, SUM(distance) FROM trips GROUP BY week

-- accept
SELECT AVG(DATE_DIFF('minute', requested_at, dropped_at)) FROM trips

-- accept
SELECT AVG(CLAMP(DATEDIFF(minute, requested_at, dropped_at), 0, 240)) FROM trips

-- accept
SELECT AVG(TIMESTAMP_DIFF(dropped_at, requested_at, MINUTE)) FROM trips
-- dialect=bigquery

-- accept
SELECT AVG(TIMESTAMPDIFF(HOUR, requested_at, dropped_at)) FROM trips

-- accept
SELECT AVG(EXTRACT(EPOCH FROM (dropped_at - requested_at))) FROM trips
-- dialect=postgres

-- accept
SELECT AVG(fare / NULLIF(distance, 0)) FROM (SELECT fare, GREATEST(distance, 1) AS distance FROM trips) AS t

-- accept
SELECT SUM(SAFE_DIVIDE(fare, GREATEST(distance, 1))) FROM trips

-- accept
SELECT TIME_BUCKET(INTERVAL '1 hour', requested_at) AS h, COUNT(*) FROM trips WHERE requested_at < '2023-02-01' GROUP BY h
-- unsupported

-- accept
SELECT APPROX_COUNT_DISTINCT(rider_id), APPROX_PERCENTILE(fare, 0.95) FROM trips

-- accept
SELECT status, COUNT(*) AS n FROM trips WHERE fare BETWEEN 5 AND 50 GROUP BY status ORDER BY n DESC NULLS LAST

-- accept
SELECT COUNT(*) FROM trips t WHERE t.requested_at BETWEEN TIMESTAMP '2024-01-01 00:00:00' AND TIMESTAMP '2024-01-31 23:59:59'

-- accept
SELECT COUNT(*) FROM trips WHERE requested_at::date = '2024-05-01'

-- accept
SELECT COUNT(*) FROM trips WHERE CAST(requested_at AS DATE) >= CAST('2024-05-01' AS DATE)

-- accept
SELECT COUNT(*) FROM trips WHERE requested_at >= TO_TIMESTAMP('2024-05-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS')
-- dialect=postgres
-- unsupported

-- accept
SELECT COUNT(*) FROM trips WHERE DAY(requested_at) = 1 AND MINUTE(requested_at) < 30

-- accept
SELECT ROUND(fare, -1) AS band, COUNT(*) AS n FROM trips GROUP BY band ORDER BY band

-- accept
SELECT COUNT(*) AS n, SUM(fare) AS s, s / n AS mean FROM trips

-- danger
SELECT driver_id, rider_id FROM trips

-- danger
SELECT t1.rider_id, COUNT(*) FROM trips t1 JOIN trips t2 ON t1.driver_id = t2.driver_id GROUP BY t1.rider_id

-- danger
SELECT COUNT(*) FROM trips a JOIN trips b ON a.driver_id = b.driver_id

-- danger
SELECT MAX(fare) OVER (PARTITION BY city_id) FROM trips

-- danger
SELECT COUNT(*) FROM trips WHERE fare = (SELECT MIN(fare) FROM trips)

-- danger
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r

-- danger
SELECT COUNT(*) FROM trips WHERE pg_sleep(5) IS NULL

-- unsupported
SELECT COUNT(*) FROM trips WHERE REGEXP_LIKE(status, fare)

-- danger
UPDATE trips SET fare = 0

-- danger
SELECT name FROM cities
