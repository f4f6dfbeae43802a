-- name: with a public table
SELECT w.city, SUM(v.cost) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.city;
-- > from inner join on ward_1 = ward_2
-- >     scan "visits" (unit unit_1)
-- >       ward_1 [text of 3?]
-- >       cost_1 [number 0..5000 step 1/100?]
-- >     scan "wards" (public)
-- >       ward_2 [text of 3]
-- >       city_2 [text?]
-- > key key1 = city_2 [text?]
-- > aggregate sum1 = sum(cost_1)
-- > output "city" = key1
-- > output "sum(v.cost)" = sum1

-- name: public table first
SELECT COUNT(*) FROM wards w JOIN visits v ON w.ward = v.ward;
-- > from inner join on ward_2 = ward_1
-- >     scan "visits" (unit unit_2)
-- >       ward_2 [text of 3?]
-- >     scan "wards" (public)
-- >       ward_1 [text of 3]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: keeping the private side
SELECT floor, COUNT(*) FROM visits LEFT JOIN wards USING (ward) GROUP BY floor;
-- > from left join on ward_1 = ward_2
-- >     scan "visits" (unit unit_1)
-- >       ward_1 [text of 3?]
-- >     scan "wards" (public)
-- >       ward_2 [text of 3]
-- >       floor_2 [integer 0..9 step 1?]
-- > key key1 = floor_2 [integer 0..9 step 1?]
-- > aggregate count1 = count(*)
-- > output "floor" = key1
-- > output "count(*)" = count1

-- name: kept from the right
SELECT ward, COUNT(*) FROM wards RIGHT JOIN visits USING (ward) GROUP BY ward;
-- > from left join on ward_2 = ward_1
-- >     scan "visits" (unit unit_2)
-- >       ward_2 [text of 3?]
-- >     scan "wards" (public)
-- >       ward_1 [text of 3]
-- > key key1 = ward_2 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "ward" = key1
-- > output "count(*)" = count1

-- name: on two keys and a condition
SELECT COUNT(*) FROM visits v JOIN drugs d ON v.drug = d.drug AND LOWER(v.ward) = d.family AND d.price < v.cost;
-- > from filter (cost_1 > price_2)
-- >     inner join on drug_1 = drug_2 and lower(ward_1) = family_2
-- >       scan "visits" (unit unit_1)
-- >         ward_1 [text of 3?]
-- >         cost_1 [number 0..5000 step 1/100?]
-- >         drug_1 [integer 1..50 step 1?]
-- >       scan "drugs" (public)
-- >         drug_2 [integer 1..50 step 1?]
-- >         price_2 [number 0..200 step 1/100?]
-- >         family_2 [text?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: private tables on the unit
SELECT SUM(t.dose) FROM visits v JOIN treatments t ON v.patient_id = t.patient AND v.drug = t.drug;
-- > from inner join on unit_1 = unit_2 and drug_1 = drug_2
-- >     scan "visits" (unit unit_1)
-- >       drug_1 [integer 1..50 step 1?]
-- >     scan "treatments" (unit unit_2, at most 20 rows per unit)
-- >       drug_2 [integer 1..50 step 1?]
-- >       dose_2 [number 0..100 step 1/2?]
-- > aggregate sum1 = sum(dose_2)
-- > output "sum(t.dose)" = sum1

-- name: private tables, keeping the left
SELECT COUNT(*), COUNT(t.dose) FROM visits v LEFT JOIN treatments t ON v.patient_id = t.patient AND t.dose > 3;
-- > from left join on unit_1 = unit_2
-- >     scan "visits" (unit unit_1)
-- >     filter (dose_2 > 3)
-- >       scan "treatments" (unit unit_2, at most 20 rows per unit)
-- >         dose_2 [number 0..100 step 1/2?]
-- > aggregate count1 = count(*)
-- > aggregate count2 = count(dose_2)
-- > output "count(*)" = count1
-- > output "count(t.dose)" = count2

-- name: a table with itself on the unit
SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND a.day < b.day;
-- > from filter (day_1 < day_2)
-- >     inner join on unit_1 = unit_2
-- >       scan "visits" (unit unit_1)
-- >         day_1 [date 2023-01-01..2024-12-31?]
-- >       scan "visits" (unit unit_2)
-- >         day_2 [date 2023-01-01..2024-12-31?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: three tables
SELECT COUNT(*), COUNT(DISTINCT u.patient) FROM visits v JOIN treatments t ON v.patient_id = t.patient JOIN treatments u ON t.patient = u.patient JOIN drugs d ON d.drug = u.drug;
-- > from inner join on drug_3 = drug_4
-- >     inner join on unit_1 = unit_3
-- >       inner join on unit_1 = unit_2
-- >         scan "visits" (unit unit_1)
-- >         scan "treatments" (unit unit_2, at most 20 rows per unit)
-- >       scan "treatments" (unit unit_3, at most 20 rows per unit)
-- >         drug_3 [integer 1..50 step 1?]
-- >     scan "drugs" (public)
-- >       drug_4 [integer 1..50 step 1?]
-- > aggregate count1 = count(*)
-- > aggregate count_units2 = count_units(*)
-- > output "count(*)" = count1
-- > output "count(distinct u.patient)" = count_units2

-- name: two public tables first
SELECT COUNT(*) FROM wards w JOIN drugs d ON w.floor = d.drug JOIN visits v ON v.ward = w.ward;
-- > from inner join on ward_3 = ward_1
-- >     scan "visits" (unit unit_3)
-- >       ward_3 [text of 3?]
-- >     inner join on floor_1 = drug_2
-- >       scan "wards" (public)
-- >         ward_1 [text of 3]
-- >         floor_1 [integer 0..9 step 1?]
-- >       scan "drugs" (public)
-- >         drug_2 [integer 1..50 step 1?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: private tables on another key
SELECT COUNT(*) FROM visits v JOIN treatments t ON v.drug = t.drug;
-- > refused: line 1, column 36: a join of the private tables "visits" and "treatments" on other keys than the unit is refused, since a matched row would have two owners: add the unit, as in ON v.patient_id = t.patient

-- name: the unit that may be missing
SELECT COUNT(*) FROM visits v LEFT JOIN treatments t ON v.patient_id = t.patient JOIN treatments u ON t.patient = u.patient;
-- > refused: line 1, column 87: a join of the private tables "treatments" and "visits" and "treatments" on other keys than the unit is refused, since a matched row would have two owners: add the unit, as in ON v.patient_id = u.patient

-- name: keeping the public side
SELECT COUNT(*) FROM wards LEFT JOIN visits USING (ward);
-- > refused: line 1, column 52: LEFT JOIN that keeps a public table is refused, since its rows without a match would have no owner: keep the private side, or use JOIN

-- name: keeping both sides
SELECT COUNT(*) FROM visits FULL JOIN treatments ON patient_id = patient;
-- > refused: line 1, column 39: FULL JOIN is refused, since some of its rows would have no owner: write JOIN … ON a.key = b.key, or USING (key); LEFT JOIN keeps the rows of the left side

-- name: a condition on the kept side
SELECT COUNT(*) FROM visits v LEFT JOIN wards w ON v.ward = w.ward AND v.age > 3;
-- > refused: line 1, column 41: a condition on the kept side of an outer join is refused, since rows that fail it are kept all the same: move it to WHERE, or into a CASE

-- name: every row with every row
SELECT COUNT(*) FROM visits CROSS JOIN wards;
-- > refused: line 1, column 40: a join without equal keys ("wards") is refused, since it would match every row with every row: tie it to another table with an equality in WHERE, or write JOIN … ON a.key = b.key, or USING (key)

-- name: a comma
SELECT COUNT(*) FROM visits, wards;
-- > refused: line 1, column 30: a join without equal keys ("wards") is refused, since it would match every row with every row: tie it to another table with an equality in WHERE, or write JOIN … ON a.key = b.key, or USING (key)

-- name: without equal keys
SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward < w.ward;
-- > refused: line 1, column 36: a join without equal keys (JOIN wards AS w ON v.ward < w.ward) is refused, since it would match every row with every row: write JOIN … ON a.key = b.key, or USING (key)

-- name: natural
SELECT COUNT(*) FROM visits NATURAL JOIN wards;
-- > from inner join on ward_1 = ward_2
-- >     scan "visits" (unit unit_1)
-- >       ward_1 [text of 3?]
-- >     scan "wards" (public)
-- >       ward_2 [text of 3]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: by position
SELECT COUNT(*) FROM visits POSITIONAL JOIN wards;
-- > refused: line 1, column 45: an ASOF or POSITIONAL join is refused, since which rows it matches is not a matter of equal keys: write JOIN … ON a.key = b.key, or USING (key)

-- name: as of
SELECT COUNT(*) FROM visits v ASOF JOIN drugs d ON v.drug >= d.drug;
-- > refused: line 1, column 41: an ASOF or POSITIONAL join is refused, since which rows it matches is not a matter of equal keys: write JOIN … ON a.key = b.key, or USING (key)

-- name: semi
SELECT COUNT(*) FROM visits SEMI JOIN treatments ON patient_id = patient;
-- > from filter match_3
-- >     match_3 = exists on unit_1 = unit_2
-- >       scan "visits" (unit unit_1)
-- >       scan "treatments" (unit unit_2, at most 20 rows per unit)
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: rows that are units with a public table
SELECT COUNT(*) FROM staff JOIN wards USING (ward);
-- > refused: line 1, column 46: a join of a table whose rows are units is refused, since a row with two matches would count as two units and be protected as one: ask the curator to declare unique = true for the public table's key if no value of it occurs twice, or ask it without the join

-- name: rows that are units with a public table on a unique key
SELECT AVG(salary) FROM staff LEFT JOIN posts ON ward = post AND beds > 3;
-- > from left join once on ward_1 = post_2
-- >     scan "staff" (each row a unit)
-- >       ward_1 [text of 3?]
-- >       salary_1 [number 0..10000 step 1?]
-- >     filter (beds_2 > 3)
-- >       scan "posts" (public)
-- >         post_2 [text of 3?]
-- >         beds_2 [integer 0..90?]
-- > aggregate avg1 = avg(salary_1)
-- > output "avg(salary)" = avg1

-- name: rows that are units with a public table on another key than the unique one
SELECT COUNT(*) FROM staff JOIN posts ON salary = beds;
-- > refused: line 1, column 33: a join of a table whose rows are units is refused, since a row with two matches would count as two units and be protected as one: ask the curator to declare unique = true for the public table's key if no value of it occurs twice, or ask it without the join

-- name: rows that are units with a public table on what is made of the unique key
SELECT COUNT(*) FROM staff JOIN posts ON ward = LOWER(post);
-- > refused: line 1, column 33: a join of a table whose rows are units is refused, since a row with two matches would count as two units and be protected as one: ask the curator to declare unique = true for the public table's key if no value of it occurs twice, or ask it without the join

-- name: rows that are units with a public table through a subquery
SELECT COUNT(*) FROM staff JOIN (SELECT post FROM posts) p ON ward = post;
-- > from inner join once on ward_1 = post_2
-- >     scan "staff" (each row a unit)
-- >       ward_1 [text of 3?]
-- >     scan "posts" (public)
-- >       post_2 [text of 3?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: rows that are units with a private table
SELECT COUNT(*) FROM staff s JOIN visits v ON s.ward = v.ward;
-- > refused: line 1, column 35: a join of private tables is refused, since each row of one of them is a unit of its own, so a matched row would have two owners: join with public tables only, or ask each table by itself

-- name: keys of unlike types
SELECT COUNT(*) FROM visits v JOIN wards w ON v.age = w.ward;
-- > refused: line 1, column 49: the key v.age = w.ward is refused, since it compares integer with text: CAST one of them

-- name: a name in both tables
SELECT ward, COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY ward;
-- > refused: line 1, column 78: column "ward" is in "v" and "w": write which, as table.column

-- name: two tables of one name
SELECT COUNT(*) FROM visits JOIN visits ON patient_id = patient_id;
-- > refused: two tables are called "visits": give one of them another name with AS

-- name: semi join on the unit
SELECT COUNT(*) FROM visits v SEMI JOIN treatments t ON v.patient_id = t.patient AND t.dose > 3;
-- > from filter match_3
-- >     match_3 = exists on unit_1 = unit_2
-- >       scan "visits" (unit unit_1)
-- >       filter (dose_2 > 3)
-- >         scan "treatments" (unit unit_2, at most 20 rows per unit)
-- >           dose_2 [number 0..100 step 1/2?]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: anti join with a public table
SELECT COUNT(*) FROM visits v ANTI JOIN wards w ON v.ward = w.ward;
-- > from filter not(match_3)
-- >     match_3 = exists on ward_1 = ward_2
-- >       scan "visits" (unit unit_1)
-- >         ward_1 [text of 3?]
-- >       scan "wards" (public)
-- >         ward_2 [text of 3]
-- > aggregate count1 = count(*)
-- > output "count(*)" = count1

-- name: semi join on another key
SELECT COUNT(*) FROM visits v SEMI JOIN treatments t ON v.drug = t.drug;
-- > refused: line 1, column 41: a join of the private tables "visits" and "treatments" on other keys than the unit is refused, since a matched row would have two owners: add the unit, as in ON v.patient_id = t.patient

-- name: semi join of a public table
SELECT COUNT(*) FROM wards w SEMI JOIN visits v ON v.ward = w.ward;
-- > refused: line 1, column 40: this SEMI JOIN is refused, since it keeps private rows by equal keys alone: write ON a.key = b.key
