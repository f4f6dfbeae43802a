CREATE TABLE public.tacit_browsers (
    digest bytea NOT NULL,
    person text NOT NULL,
    created bigint NOT NULL,
    expires bigint NOT NULL
);
CREATE TABLE public.tacit_changes (
    number bigint NOT NULL,
    "time" bigint NOT NULL,
    who text NOT NULL,
    dataset text NOT NULL,
    what text NOT NULL
);
CREATE SEQUENCE public.tacit_changes_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.tacit_changes_number_seq OWNED BY public.tacit_changes.number;
CREATE TABLE public.tacit_checks (
    number bigint NOT NULL,
    id text NOT NULL,
    dataset text NOT NULL,
    who text NOT NULL,
    started bigint NOT NULL,
    seen bigint NOT NULL,
    state text NOT NULL,
    entries integer NOT NULL,
    total integer NOT NULL,
    report text
);
CREATE SEQUENCE public.tacit_checks_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.tacit_checks_number_seq OWNED BY public.tacit_checks.number;
CREATE TABLE public.tacit_jobs (
    number bigint NOT NULL,
    id text NOT NULL,
    owner text NOT NULL,
    dataset text NOT NULL,
    state text NOT NULL,
    process text NOT NULL,
    created bigint NOT NULL,
    release text,
    problem text
);
CREATE SEQUENCE public.tacit_jobs_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.tacit_jobs_number_seq OWNED BY public.tacit_jobs.number;
CREATE TABLE public.tacit_keys (
    owner text NOT NULL,
    dataset text NOT NULL,
    key text NOT NULL,
    question bytea NOT NULL
);
CREATE TABLE public.tacit_links (
    digest bytea NOT NULL,
    person text NOT NULL,
    expires bigint NOT NULL,
    used bigint
);
CREATE TABLE public.tacit_people (
    name text NOT NULL,
    role text NOT NULL,
    created bigint NOT NULL,
    barred bigint,
    salt bytea NOT NULL
);
CREATE TABLE public.tacit_received (
    survey text NOT NULL,
    id bytea NOT NULL
);
CREATE TABLE public.tacit_releases (
    number bigint NOT NULL,
    id text NOT NULL,
    owner text NOT NULL,
    dataset text NOT NULL,
    entry bigint NOT NULL,
    "time" bigint NOT NULL,
    sql text NOT NULL,
    content bytea NOT NULL,
    shared boolean NOT NULL,
    tables text NOT NULL
);
CREATE SEQUENCE public.tacit_releases_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.tacit_releases_number_seq OWNED BY public.tacit_releases.number;
CREATE TABLE public.tacit_reports (
    survey text NOT NULL,
    question text NOT NULL,
    key bytea NOT NULL,
    heap bytea NOT NULL
);
CREATE TABLE public.tacit_requests (
    number bigint NOT NULL,
    id text NOT NULL,
    owner text NOT NULL,
    dataset text NOT NULL,
    amount text NOT NULL,
    reason text NOT NULL,
    created bigint NOT NULL,
    state text NOT NULL,
    decided bigint,
    decider text,
    note text
);
CREATE SEQUENCE public.tacit_requests_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.tacit_requests_number_seq OWNED BY public.tacit_requests.number;
CREATE TABLE public.tacit_subjects (
    issuer text NOT NULL,
    subject text NOT NULL,
    person text NOT NULL,
    created bigint NOT NULL
);
CREATE TABLE public.tacit_surveys (
    name text NOT NULL,
    version text NOT NULL
);
CREATE TABLE public.tacit_tallies (
    survey text NOT NULL,
    question text NOT NULL,
    counts bytea NOT NULL,
    reports bigint NOT NULL,
    held bytea NOT NULL,
    waiting bigint NOT NULL
);
CREATE TABLE public.tacit_tokens (
    prefix text NOT NULL,
    person text NOT NULL,
    digest bytea NOT NULL,
    label text NOT NULL,
    created bigint NOT NULL,
    expires bigint NOT NULL,
    revoked bigint,
    iterations integer NOT NULL,
    stored_key bytea NOT NULL,
    server_key bytea NOT NULL
);
ALTER TABLE ONLY public.tacit_changes ALTER COLUMN number SET DEFAULT nextval('public.tacit_changes_number_seq'::regclass);
ALTER TABLE ONLY public.tacit_checks ALTER COLUMN number SET DEFAULT nextval('public.tacit_checks_number_seq'::regclass);
ALTER TABLE ONLY public.tacit_jobs ALTER COLUMN number SET DEFAULT nextval('public.tacit_jobs_number_seq'::regclass);
ALTER TABLE ONLY public.tacit_releases ALTER COLUMN number SET DEFAULT nextval('public.tacit_releases_number_seq'::regclass);
ALTER TABLE ONLY public.tacit_requests ALTER COLUMN number SET DEFAULT nextval('public.tacit_requests_number_seq'::regclass);
INSERT INTO public.tacit_changes VALUES (1, 1794963453127936, 'cora', 'clinic', 'raised a limit');
INSERT INTO public.tacit_checks VALUES (1, 'c1', 'clinic', 'cora', 1, 2, 'whole', 3, 3, '{}');
INSERT INTO public.tacit_jobs VALUES (1, 'j1', 'ana', 'clinic', 'done', 'host:1:abc', 7, 'r1', NULL);
INSERT INTO public.tacit_jobs VALUES (2, 'j2', 'ana', 'clinic', 'running', 'gone-host:1:abc', 8, NULL, NULL);
INSERT INTO public.tacit_keys VALUES ('ana', 'clinic', 'k1', '\x0101010101010101010101010101010101010101010101010101010101010101');
INSERT INTO public.tacit_links VALUES ('\x8b937f642c1ee0e05d62ca05d36a05bc6a51f07bea6f492845a7a25534d15b57', 'cora', 1795049853122863, NULL);
INSERT INTO public.tacit_people VALUES ('cora', 'curator', 1794963453116239, NULL, '\xeef1d03d02a8d9f7277e44c91bcdbd90');
INSERT INTO public.tacit_people VALUES ('ana', 'analyst', 1794963453117486, NULL, '\xb45e0fd7b31b4a4c01067f8d2d0e8393');
INSERT INTO public.tacit_people VALUES ('ben', 'analyst', 1794963453118045, 1794963453118690, '\x0bd1e1cd666b991c6a862a7dada162f4');
INSERT INTO public.tacit_received VALUES ('team', '\x07070707070707070707070707070707');
INSERT INTO public.tacit_releases VALUES (1, 'r1', 'ana', 'clinic', 3, 5, 'SELECT COUNT(*) AS n FROM visits', '\x0001ff', true, '["visits"]');
INSERT INTO public.tacit_reports VALUES ('team', 'q', '\x01010101010101010101010101010101', '\x0203');
INSERT INTO public.tacit_requests VALUES (1, 'w1', 'ana', 'clinic', '2', 'more', 9, 'open', NULL, NULL, NULL);
INSERT INTO public.tacit_subjects VALUES ('https://id.example', 's1', 'ana', 1);
INSERT INTO public.tacit_surveys VALUES ('team', 'v1');
INSERT INTO public.tacit_tallies VALUES ('team', 'q', '\x00000000000000000000000000000000', 1, '\x00000000000000000000000000000000', 0);
INSERT INTO public.tacit_tokens VALUES ('c16e0ba6118d', 'ana', '\x0f4b1701a0a7e4611872da12da94308c915ecc17302295dbe29718041b4d0399', 'old', 1794963453119848, 2111187453119848, NULL, 4096, '\xbde21c5f1d15dba4e2c8b0e2bebb788366de407620abe7682895bdaf2a36446e', '\x6ec03ee6dea3952a203f3d63ee4ff18f89b8efda6db68146d8a887a1b43b6d34');
SELECT pg_catalog.setval('public.tacit_changes_number_seq', 1, true);
SELECT pg_catalog.setval('public.tacit_checks_number_seq', 1, true);
SELECT pg_catalog.setval('public.tacit_jobs_number_seq', 2, true);
SELECT pg_catalog.setval('public.tacit_releases_number_seq', 1, true);
SELECT pg_catalog.setval('public.tacit_requests_number_seq', 1, true);
ALTER TABLE ONLY public.tacit_browsers
    ADD CONSTRAINT tacit_browsers_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY public.tacit_changes
    ADD CONSTRAINT tacit_changes_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.tacit_checks
    ADD CONSTRAINT tacit_checks_id_key UNIQUE (id);
ALTER TABLE ONLY public.tacit_checks
    ADD CONSTRAINT tacit_checks_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.tacit_jobs
    ADD CONSTRAINT tacit_jobs_id_key UNIQUE (id);
ALTER TABLE ONLY public.tacit_jobs
    ADD CONSTRAINT tacit_jobs_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.tacit_keys
    ADD CONSTRAINT tacit_keys_pkey PRIMARY KEY (owner, dataset, key);
ALTER TABLE ONLY public.tacit_links
    ADD CONSTRAINT tacit_links_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY public.tacit_people
    ADD CONSTRAINT tacit_people_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.tacit_received
    ADD CONSTRAINT tacit_received_pkey PRIMARY KEY (survey, id);
ALTER TABLE ONLY public.tacit_releases
    ADD CONSTRAINT tacit_releases_id_key UNIQUE (id);
ALTER TABLE ONLY public.tacit_releases
    ADD CONSTRAINT tacit_releases_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.tacit_reports
    ADD CONSTRAINT tacit_reports_pkey PRIMARY KEY (survey, question, key);
ALTER TABLE ONLY public.tacit_requests
    ADD CONSTRAINT tacit_requests_id_key UNIQUE (id);
ALTER TABLE ONLY public.tacit_requests
    ADD CONSTRAINT tacit_requests_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.tacit_subjects
    ADD CONSTRAINT tacit_subjects_issuer_person_key UNIQUE (issuer, person);
ALTER TABLE ONLY public.tacit_subjects
    ADD CONSTRAINT tacit_subjects_pkey PRIMARY KEY (issuer, subject);
ALTER TABLE ONLY public.tacit_surveys
    ADD CONSTRAINT tacit_surveys_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.tacit_tallies
    ADD CONSTRAINT tacit_tallies_pkey PRIMARY KEY (survey, question);
ALTER TABLE ONLY public.tacit_tokens
    ADD CONSTRAINT tacit_tokens_pkey PRIMARY KEY (prefix);
CREATE INDEX ix_tacit_browsers_person ON public.tacit_browsers USING btree (person);
CREATE INDEX ix_tacit_checks_dataset ON public.tacit_checks USING btree (dataset);
CREATE INDEX ix_tacit_jobs_owner ON public.tacit_jobs USING btree (owner);
CREATE INDEX ix_tacit_requests_owner ON public.tacit_requests USING btree (owner);
CREATE INDEX ix_tacit_tokens_person ON public.tacit_tokens USING btree (person);
CREATE INDEX tacit_changes_dataset ON public.tacit_changes USING btree (dataset, number);
CREATE INDEX tacit_releases_owner ON public.tacit_releases USING btree (owner, number);
CREATE INDEX tacit_requests_state ON public.tacit_requests USING btree (state, number);
ALTER TABLE ONLY public.tacit_browsers
    ADD CONSTRAINT tacit_browsers_person_fkey FOREIGN KEY (person) REFERENCES public.tacit_people(name);
ALTER TABLE ONLY public.tacit_links
    ADD CONSTRAINT tacit_links_person_fkey FOREIGN KEY (person) REFERENCES public.tacit_people(name);
ALTER TABLE ONLY public.tacit_subjects
    ADD CONSTRAINT tacit_subjects_person_fkey FOREIGN KEY (person) REFERENCES public.tacit_people(name);
ALTER TABLE ONLY public.tacit_tokens
    ADD CONSTRAINT tacit_tokens_person_fkey FOREIGN KEY (person) REFERENCES public.tacit_people(name);
