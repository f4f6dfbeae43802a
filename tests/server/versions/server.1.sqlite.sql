BEGIN TRANSACTION;
CREATE TABLE tacit_browsers (
	digest BLOB NOT NULL, 
	person TEXT NOT NULL, 
	created BIGINT NOT NULL, 
	expires BIGINT NOT NULL, 
	PRIMARY KEY (digest), 
	FOREIGN KEY(person) REFERENCES tacit_people (name)
);
CREATE TABLE tacit_changes (
	number INTEGER NOT NULL, 
	time BIGINT NOT NULL, 
	who TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	what TEXT NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "tacit_changes" VALUES(1,1794963452241246,'cora','clinic','raised a limit');
CREATE TABLE tacit_checks (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	who TEXT NOT NULL, 
	started BIGINT NOT NULL, 
	seen BIGINT NOT NULL, 
	state TEXT NOT NULL, 
	entries INTEGER NOT NULL, 
	total INTEGER NOT NULL, 
	report TEXT, 
	PRIMARY KEY (number), 
	UNIQUE (id)
);
INSERT INTO "tacit_checks" VALUES(1,'c1','clinic','cora',1,2,'whole',3,3,'{}');
CREATE TABLE tacit_jobs (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	state TEXT NOT NULL, 
	process TEXT NOT NULL, 
	created BIGINT NOT NULL, 
	release TEXT, 
	problem TEXT, 
	PRIMARY KEY (number), 
	UNIQUE (id)
);
INSERT INTO "tacit_jobs" VALUES(1,'j1','ana','clinic','done','host:1:abc',7,'r1',NULL);
INSERT INTO "tacit_jobs" VALUES(2,'j2','ana','clinic','running','gone-host:1:abc',8,NULL,NULL);
CREATE TABLE tacit_keys (
	owner TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	question BLOB NOT NULL, 
	PRIMARY KEY (owner, dataset, "key")
);
INSERT INTO "tacit_keys" VALUES('ana','clinic','k1',X'0101010101010101010101010101010101010101010101010101010101010101');
CREATE TABLE tacit_links (
	digest BLOB NOT NULL, 
	person TEXT NOT NULL, 
	expires BIGINT NOT NULL, 
	used BIGINT, 
	PRIMARY KEY (digest), 
	FOREIGN KEY(person) REFERENCES tacit_people (name)
);
INSERT INTO "tacit_links" VALUES(X'57395E927EC0AE4CF57AE1092874ED1781E9466C25BC5C108C5E7DEFA1DFC64A','cora',1795049852238457,NULL);
CREATE TABLE tacit_people (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	created BIGINT NOT NULL, 
	barred BIGINT, 
	salt BLOB NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "tacit_people" VALUES('cora','curator',1794963452233523,NULL,X'8E013DEDA0A7D3980C8A53D41743584C');
INSERT INTO "tacit_people" VALUES('ana','analyst',1794963452235175,NULL,X'2DE9BB1CB2B210D6227EC91E4E85B48F');
INSERT INTO "tacit_people" VALUES('ben','analyst',1794963452235354,1794963452235603,X'B759455874A4331134A0E34805229A58');
CREATE TABLE tacit_releases (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	entry BIGINT NOT NULL, 
	time BIGINT NOT NULL, 
	sql TEXT NOT NULL, 
	content BLOB NOT NULL, 
	shared BOOLEAN NOT NULL, 
	tables TEXT NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE (id)
);
INSERT INTO "tacit_releases" VALUES(1,'r1','ana','clinic',3,5,'SELECT COUNT(*) AS n FROM visits',X'0001FF',1,'["visits"]');
CREATE TABLE tacit_requests (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	amount TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	created BIGINT NOT NULL, 
	state TEXT NOT NULL, 
	decided BIGINT, 
	decider TEXT, 
	note TEXT, 
	PRIMARY KEY (number), 
	UNIQUE (id)
);
INSERT INTO "tacit_requests" VALUES(1,'w1','ana','clinic','2','more',9,'open',NULL,NULL,NULL);
CREATE TABLE tacit_subjects (
	issuer TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	person TEXT NOT NULL, 
	created BIGINT NOT NULL, 
	PRIMARY KEY (issuer, subject), 
	UNIQUE (issuer, person), 
	FOREIGN KEY(person) REFERENCES tacit_people (name)
);
INSERT INTO "tacit_subjects" VALUES('https://id.example','s1','ana',1);
CREATE TABLE tacit_tokens (
	prefix TEXT NOT NULL, 
	person TEXT NOT NULL, 
	digest BLOB NOT NULL, 
	label TEXT NOT NULL, 
	created BIGINT NOT NULL, 
	expires BIGINT NOT NULL, 
	revoked BIGINT, 
	iterations INTEGER NOT NULL, 
	stored_key BLOB NOT NULL, 
	server_key BLOB NOT NULL, 
	PRIMARY KEY (prefix), 
	FOREIGN KEY(person) REFERENCES tacit_people (name)
);
INSERT INTO "tacit_tokens" VALUES('2c5c3a78cbf2','ana',X'BC0F8C94EEF13E50382924E640C08FD3B55714C6B1BDF38185D59DDD5D6BDB59','old',1794963452236203,2111187452236203,NULL,4096,X'1DF14D1D167A745EC4F192BE29C24AA187ADF8361C7D037A7188870F41FC8277',X'4F425A8C49462EA34375124D23D9F89FD5916A1CE210FBA430115FED55359A52');
CREATE INDEX tacit_releases_owner ON tacit_releases (owner, number);
CREATE INDEX ix_tacit_jobs_owner ON tacit_jobs (owner);
CREATE INDEX tacit_changes_dataset ON tacit_changes (dataset, number);
CREATE INDEX tacit_requests_state ON tacit_requests (state, number);
CREATE INDEX ix_tacit_requests_owner ON tacit_requests (owner);
CREATE INDEX ix_tacit_checks_dataset ON tacit_checks (dataset);
CREATE INDEX ix_tacit_tokens_person ON tacit_tokens (person);
CREATE INDEX ix_tacit_browsers_person ON tacit_browsers (person);
COMMIT;
