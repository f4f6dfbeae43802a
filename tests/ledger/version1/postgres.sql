CREATE FUNCTION public.tacit_charge_1(account_ integer, people_ text, analyst_ text, key_ text, spend_ numeric, delta_ numeric, holders_ text[], limits_ numeric[], ordinary_ boolean, body_ text, limit_bodies_ text[]) RETURNS bytea
    LANGUAGE plpgsql
    AS $$
DECLARE
    own record;
    balance record;
    changed integer;
    turned boolean;
    missing integer[];
    line text;
    number bigint;
    at bigint;
    mark bytea;
    left_spend numeric;
    left_delta numeric;
    held_to text;
    who text;
BEGIN
    IF (current_setting('fsync') = 'on' AND current_setting('synchronous_commit') IN ('on', 'remote_apply')
            AND spend_ >= 0 AND delta_ >= 0 AND key_ <> '' AND 'dataset' = ANY (holders_)) IS NOT TRUE THEN
        IF current_setting('fsync') <> 'on' THEN
            RETURN '["unsafe"]';
        END IF;
        IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
            PERFORM set_config('synchronous_commit', 'on', true);  -- to the end of the transaction, its commit included
        END IF;
        IF (spend_ >= 0 AND delta_ >= 0 AND key_ <> '' AND 'dataset' = ANY (holders_)) IS NOT TRUE THEN
            RAISE EXCEPTION 'a charge needs a key, the dataset among its holders, and amounts from zero up';
        END IF;
    END IF;
    at := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    IF ordinary_ THEN
        BEGIN
            UPDATE tacit_accounts a SET
                seq = a.seq + 1,
                time = greatest(a.time, at),
                head = sha256(a.head || int8send(a.seq + 1) || int8send(greatest(a.time, at))
                    || sha256(convert_to(body_, 'UTF8')))
                WHERE a.id = account_ AND a.people = people_ AND a.sealed = 0
                    AND (greatest(a.time, at) < a.window_end) IS NOT FALSE
                RETURNING a.seq, a.time, a.head, a.window, a.lifetime_spend, a.lifetime_delta INTO own;
            IF own.seq IS NULL THEN
                RAISE SQLSTATE 'TACIT';
            END IF;
            UPDATE tacit_balances b SET
                spent_spend = b.spent_spend + spend_,
                spent_delta = b.spent_delta + delta_,
                window_spend = b.window_spend + spend_,
                window_delta = b.window_delta + delta_
                WHERE b.account = account_ AND b.holder = ANY (holders_) AND b.window = own.window
                    AND b.window_spend + spend_ <= b.limit_spend AND b.window_delta + delta_ <= b.limit_delta
                    AND b.window_spend + spend_ <= limits_[4 * array_position(holders_, b.holder) - 3]
                    AND b.window_delta + delta_ <= limits_[4 * array_position(holders_, b.holder) - 2]
                    AND (spend_ <= b.each_spend AND delta_ <= b.each_delta) IS NOT FALSE
                    AND (b.holder <> 'dataset' OR (b.spent_spend + spend_ <= own.lifetime_spend
                        AND b.spent_delta + delta_ <= own.lifetime_delta) IS NOT FALSE);
            GET DIAGNOSTICS changed = ROW_COUNT;
            IF changed <> cardinality(holders_) THEN
                RAISE SQLSTATE 'TACIT';
            END IF;
            INSERT INTO tacit_entries (account, seq, kind, time, analyst, key, body, digest)
                VALUES (account_, own.seq, 'charge', own.time, analyst_, key_, body_, own.head);
            RETURN int8send(own.seq) || int8send(own.time) || own.head;
        EXCEPTION WHEN SQLSTATE 'TACIT' OR unique_violation THEN
            NULL;
        END;
    END IF;
    SELECT a.* INTO own FROM tacit_accounts a WHERE a.id = account_ AND a.people = people_ FOR UPDATE;
    IF own.id IS NULL THEN
        RETURN '["moved"]';
    END IF;
    SELECT e.seq, e.time, e.digest, e.body INTO balance
        FROM tacit_entries e WHERE e.account = account_ AND e.analyst = analyst_ AND e.key = key_;
    IF balance.seq IS NOT NULL THEN
        RETURN convert_to(json_build_array(
            'replayed', balance.seq, balance.time, encode(balance.digest, 'hex'), balance.body)::text, 'UTF8');
    END IF;
    IF own.sealed <> 0 THEN
        RETURN '["sealed"]';
    END IF;
    at := greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, own.time);
    turned := at >= own.window_end AND own.period IS NOT NULL;
    IF turned THEN
        own.window := own.window + 1;
        own.window_end := own.window_end + own.period * ((at - own.window_end) / own.period + 1);
    END IF;
    FOR i IN 1 .. cardinality(holders_) LOOP
        who := holders_[i];
        IF limits_[4 * i - 3] IS NULL OR limits_[4 * i - 2] IS NULL THEN
            RAISE EXCEPTION 'a charge needs a limit for every holder';
        END IF;
        SELECT b.* INTO balance FROM tacit_balances b WHERE b.account = account_ AND b.holder = holders_[i];
        IF balance.holder IS NULL THEN
            missing := missing || i;
        END IF;
        IF balance.window IS DISTINCT FROM own.window THEN
            balance.window_spend := 0;
            balance.window_delta := 0;
        END IF;
        left_spend := least(limits_[4 * i - 1], balance.each_spend);
        left_delta := least(limits_[4 * i], balance.each_delta);
        IF spend_ > left_spend OR delta_ > left_delta THEN
            held_to := 'each';
            EXIT;
        END IF;
        left_spend := least(limits_[4 * i - 3], balance.limit_spend) - balance.window_spend;
        left_delta := least(limits_[4 * i - 2], balance.limit_delta) - balance.window_delta;
        IF spend_ > left_spend OR delta_ > left_delta THEN
            held_to := 'total';
            EXIT;
        END IF;
        IF holders_[i] = 'dataset' AND own.lifetime_spend IS NOT NULL THEN
            left_spend := own.lifetime_spend - coalesce(balance.spent_spend, 0);
            left_delta := own.lifetime_delta - coalesce(balance.spent_delta, 0);
            IF spend_ > left_spend OR delta_ > left_delta THEN
                held_to := 'lifetime';
                EXIT;
            END IF;
        END IF;
    END LOOP;
    IF held_to IS NOT NULL THEN
        RETURN convert_to(json_build_array('over', who, held_to, left_spend::text, left_delta::text)::text, 'UTF8');
    END IF;
    IF missing IS NOT NULL AND limit_bodies_ IS NULL THEN
        RETURN '["first"]';
    END IF;
    number := own.seq;
    mark := own.head;
    IF turned THEN
        line := '{"kind":"reset","window":' || own.window || '}';
        number := number + 1;
        mark := sha256(mark || int8send(number) || int8send(at) || sha256(convert_to(line, 'UTF8')));
        INSERT INTO tacit_entries (account, seq, kind, time, body, digest)
            VALUES (account_, number, 'reset', at, line, mark);
    END IF;
    FOR i IN 1 .. coalesce(cardinality(missing), 0) LOOP
        line := limit_bodies_[missing[i]];
        number := number + 1;
        mark := sha256(mark || int8send(number) || int8send(at) || sha256(convert_to(line, 'UTF8')));
        INSERT INTO tacit_entries (account, seq, kind, time, body, digest)
            VALUES (account_, number, 'limit', at, line, mark);
        INSERT INTO tacit_balances (account, holder, limit_spend, limit_delta, each_spend, each_delta,
                spent_spend, spent_delta, "window", window_spend, window_delta)
            VALUES (account_, holders_[missing[i]], limits_[4 * missing[i] - 3], limits_[4 * missing[i] - 2],
                limits_[4 * missing[i] - 1], limits_[4 * missing[i]], 0, 0, own.window, 0, 0);
    END LOOP;
    number := number + 1;
    mark := sha256(mark || int8send(number) || int8send(at) || sha256(convert_to(body_, 'UTF8')));
    INSERT INTO tacit_entries (account, seq, kind, time, analyst, key, body, digest)
        VALUES (account_, number, 'charge', at, analyst_, key_, body_, mark);
    UPDATE tacit_balances b SET
        spent_spend = b.spent_spend + spend_,
        spent_delta = b.spent_delta + delta_,
        window_spend = CASE WHEN b.window = own.window THEN b.window_spend ELSE 0 END + spend_,
        window_delta = CASE WHEN b.window = own.window THEN b.window_delta ELSE 0 END + delta_,
        "window" = own.window
        WHERE b.account = account_ AND b.holder = ANY (holders_);
    UPDATE tacit_accounts a
        SET seq = number, time = at, head = mark, "window" = own.window, window_end = own.window_end
        WHERE a.id = account_;
    RETURN int8send(number) || int8send(at) || mark;
END
$$;
CREATE TABLE public.tacit_accounts (
    id integer NOT NULL,
    people text NOT NULL,
    currency text,
    relation text,
    unit text,
    delta text,
    period bigint,
    lifetime_spend numeric(60,0),
    lifetime_delta numeric(60,0),
    "window" integer NOT NULL,
    window_end bigint,
    sealed integer NOT NULL,
    seq bigint NOT NULL,
    "time" bigint NOT NULL,
    head bytea NOT NULL
);
CREATE SEQUENCE public.tacit_accounts_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.tacit_accounts_id_seq OWNED BY public.tacit_accounts.id;
CREATE TABLE public.tacit_answers (
    account integer NOT NULL,
    seq bigint NOT NULL,
    scope text NOT NULL,
    program text NOT NULL,
    version text NOT NULL,
    kind text NOT NULL,
    release bytea NOT NULL
);
CREATE TABLE public.tacit_balances (
    account integer NOT NULL,
    holder text NOT NULL,
    limit_spend numeric(60,0) NOT NULL,
    limit_delta numeric(60,0) NOT NULL,
    each_spend numeric(60,0),
    each_delta numeric(60,0),
    spent_spend numeric(60,0) NOT NULL,
    spent_delta numeric(60,0) NOT NULL,
    "window" integer NOT NULL,
    window_spend numeric(60,0) NOT NULL,
    window_delta numeric(60,0) NOT NULL
);
CREATE TABLE public.tacit_book (
    version integer NOT NULL,
    ledger text NOT NULL,
    created bigint NOT NULL
);
CREATE TABLE public.tacit_entries (
    account integer NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    "time" bigint NOT NULL,
    analyst text,
    key text,
    body text NOT NULL,
    digest bytea NOT NULL
);
CREATE TABLE public.tacit_sources (
    source text NOT NULL,
    account integer NOT NULL
);
ALTER TABLE ONLY public.tacit_accounts ALTER COLUMN id SET DEFAULT nextval('public.tacit_accounts_id_seq'::regclass);
INSERT INTO public.tacit_accounts VALUES (3, 'employees', 'epsilon', 'add_remove', 'row', '1/1000000', NULL, NULL, NULL, 1, NULL, 1, 7, 1794963443768003, '\x11150eaf2cb67b85a9bb5b8fe1681ec308a505d0a581739f78efd0e59dc18f2b');
INSERT INTO public.tacit_accounts VALUES (4, 'shoppers', 'epsilon', 'add_remove', 'row', '1/1000000', 1000, NULL, NULL, 3, 1794963443773686, 0, 8, 1794963443773466, '\x6a086565b066d76644f94282db3442a57a11e38dd0b18da12baedac4e4b2edc8');
INSERT INTO public.tacit_accounts VALUES (2, 'patients', 'epsilon', 'add_remove', 'row', '1/1000000', NULL, NULL, NULL, 1, NULL, 0, 13, 1794963443788801, '\xd9e9b4a4ef4defa70e672547203d43ef7afe4e852bf99e540a8d56d51b7f5515');
INSERT INTO public.tacit_accounts VALUES (1, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, 4, 1794963443790229, '\xff0c8b5a516227d40397cf7f89c81978ae776eeb3bb7314223f1f6167cb59ed7');
INSERT INTO public.tacit_answers VALUES (2, 6, 'analyst:alice', '7417183b1a356cfe6599e2525d046ea2ebc6e16707f29d0812a7738ff0f6d1cd', 'v1', 'answer', '\x666f7274792d74776f');
INSERT INTO public.tacit_answers VALUES (2, 7, 'shared', '022b416db5e27130a09cee5f39931a3478d3bf5ebb3be3938718399f509b0773', 'v1', 'answer', '\x73686172656420627920616c6c');
INSERT INTO public.tacit_answers VALUES (2, 8, 'analyst:alice', '462d1749377b6318e848b06f34cf7bdf85287b2942d75b51bbc55930bad6ec5d', 'v1', 'failure', '\x6661696c6564');
INSERT INTO public.tacit_balances VALUES (2, 'analyst:bob', 50000000000000, 0, NULL, NULL, 2000000000000, 0, 1, 2000000000000, 0);
INSERT INTO public.tacit_balances VALUES (2, 'analyst:alice', 50000000000000, 0, 5000000000000, 0, 3000000000000, 0, 1, 3000000000000, 0);
INSERT INTO public.tacit_balances VALUES (2, 'group:lab', 80000000000000, 0, NULL, NULL, 5000000000000, 0, 1, 5000000000000, 0);
INSERT INTO public.tacit_balances VALUES (2, 'dataset', 90000000000000, 0, NULL, NULL, 5000000000000, 0, 1, 5000000000000, 0);
INSERT INTO public.tacit_balances VALUES (3, 'analyst:alice', 100000000000000, 0, NULL, NULL, 0, 0, 1, 0, 0);
INSERT INTO public.tacit_balances VALUES (3, 'analyst:carol', 100000000000000, 0, NULL, NULL, 1000000000000, 0, 1, 1000000000000, 0);
INSERT INTO public.tacit_balances VALUES (3, 'dataset', 100000000000000, 0, NULL, NULL, 1000000000000, 0, 1, 1000000000000, 0);
INSERT INTO public.tacit_balances VALUES (4, 'analyst:alice', 100000000000000, 0, NULL, NULL, 3000000000000, 0, 3, 2000000000000, 0);
INSERT INTO public.tacit_balances VALUES (4, 'dataset', 100000000000000, 0, NULL, NULL, 3000000000000, 0, 3, 2000000000000, 0);
INSERT INTO public.tacit_book VALUES (1, '8bf2b72404190703556033e1b32454f8', 1794963443719997);
INSERT INTO public.tacit_entries VALUES (2, 1, 'open', 1794963443736370, NULL, NULL, '{"currency":"epsilon","delta":"1/1000000","kind":"open","lifetime":null,"people":"patients","period":null,"policy":"0000000000000000000000000000000000000000000000000000000000000000","relation":"add_remove","unit":"row"}', '\xc233d6c5c935d2054384cfe356d80c555ed8a51236b994d9dfa9843c02b04faf');
INSERT INTO public.tacit_entries VALUES (2, 2, 'limit', 1794963443736370, NULL, NULL, '{"before":null,"each":null,"holder":"dataset","kind":"limit","policy":"0000000000000000000000000000000000000000000000000000000000000000","total":{"delta":"0","spend":"100000000000000"}}', '\x3c9b63dd86dff94d8aae3b0ee80f522c245eb43ec14c01a72e18fe316b1d8d66');
INSERT INTO public.tacit_entries VALUES (2, 3, 'limit', 1794963443736370, NULL, NULL, '{"before":null,"each":{"delta":"0","spend":"5000000000000"},"holder":"analyst:alice","kind":"limit","policy":"0000000000000000000000000000000000000000000000000000000000000000","total":{"delta":"0","spend":"50000000000000"}}', '\x0dc20fb1a830301eb3665f3b1e2f44a1918bdcc5255da142c8591eb3791a3488');
INSERT INTO public.tacit_entries VALUES (2, 4, 'limit', 1794963443736370, NULL, NULL, '{"before":null,"each":null,"holder":"analyst:bob","kind":"limit","policy":"0000000000000000000000000000000000000000000000000000000000000000","total":{"delta":"0","spend":"50000000000000"}}', '\x5507af96bcb78a77fe1af9f84da4cb58ce7263e91c9e396aba414088197db91b');
INSERT INTO public.tacit_entries VALUES (2, 5, 'limit', 1794963443736370, NULL, NULL, '{"before":null,"each":null,"holder":"group:lab","kind":"limit","policy":"0000000000000000000000000000000000000000000000000000000000000000","total":{"delta":"0","spend":"80000000000000"}}', '\x4c6165f0a5ce6ed49dacf5d37f5d2b170aedf640fda40148d0a52f5f36c71758');
INSERT INTO public.tacit_entries VALUES (1, 1, 'open', 1794963443736370, NULL, NULL, '{"genesis":"c233d6c5c935d2054384cfe356d80c555ed8a51236b994d9dfa9843c02b04faf","kind":"open","people":"patients"}', '\x55d15a4685e4b870009e606710bec0ffe52348c07bc2900ce34cf65560578478');
INSERT INTO public.tacit_entries VALUES (2, 6, 'charge', 1794963443744939, 'alice', 'k1', '{"analyst":"alice","delta":"0","holders":["dataset","group:lab","analyst:alice"],"key":"k1","kind":"charge","policy":"0000000000000000000000000000000000000000000000000000000000000000","process":"clinic:10430:c21bb751cc0f:7613f4165b95af1a95e170b48498a798","program":{"delta":null,"query":"first","relation":"add_remove","steps":[{"concentrated":false,"mechanism":{"granularity":"1/1048576","name":"Laplace","scale":"1"},"name":"count","sensitivity":{"dimension":null,"l1":"1","l2":null,"linf":"1"}}],"tables":["visits"],"unit":"row","version":1},"spend":"1000000000000"}', '\x80b4fb690a7010e7d6a4fc8a15a1832456200a93d1a6b9b0dad2ab41119f28dd');
INSERT INTO public.tacit_entries VALUES (2, 7, 'charge', 1794963443748995, 'bob', 'k2', '{"analyst":"bob","delta":"0","holders":["dataset","group:lab","analyst:bob"],"key":"k2","kind":"charge","policy":"0000000000000000000000000000000000000000000000000000000000000000","process":"clinic:10430:c21bb751cc0f:b57c4b37379fe3be4f8d3390f78f9796","program":{"delta":null,"query":"second","relation":"add_remove","steps":[{"concentrated":false,"mechanism":{"granularity":"1/1048576","name":"Laplace","scale":"1"},"name":"count","sensitivity":{"dimension":null,"l1":"1","l2":null,"linf":"1"}}],"tables":["visits"],"unit":"row","version":1},"spend":"2000000000000"}', '\x29d0697badcf42b295bc81ccff9426cd62c48748a19347f1235cb58fdee15dde');
INSERT INTO public.tacit_entries VALUES (2, 8, 'charge', 1794963443751016, 'alice', 'k3', '{"analyst":"alice","delta":"0","holders":["dataset","group:lab","analyst:alice"],"key":"k3","kind":"charge","policy":"0000000000000000000000000000000000000000000000000000000000000000","process":"clinic:10430:c21bb751cc0f:36e21937911e8f3e13b8820700c42f4d","program":{"delta":null,"query":"third","relation":"add_remove","steps":[{"concentrated":false,"mechanism":{"granularity":"1/1048576","name":"Laplace","scale":"1"},"name":"count","sensitivity":{"dimension":null,"l1":"1","l2":null,"linf":"1"}}],"tables":["visits"],"unit":"row","version":1},"spend":"1000000000000"}', '\x31b3088752383b440254c0450b0127c719bae44e2baac821a3bfafc1bdf3a2cf');
INSERT INTO public.tacit_entries VALUES (2, 9, 'charge', 1794963443752822, 'alice', 'k4', '{"analyst":"alice","delta":"0","holders":["dataset","group:lab","analyst:alice"],"key":"k4","kind":"charge","policy":"0000000000000000000000000000000000000000000000000000000000000000","process":"clinic:10430:c21bb751cc0f:94804383f8bc6090dcd2dbdb7ee1648f","program":{"delta":null,"query":"void","relation":"add_remove","steps":[{"concentrated":false,"mechanism":{"granularity":"1/1048576","name":"Laplace","scale":"1"},"name":"count","sensitivity":{"dimension":null,"l1":"1","l2":null,"linf":"1"}}],"tables":["visits"],"unit":"row","version":1},"spend":"3000000000000"}', '\x06b44a59046873c0191abb531f3dbb91546c2e795ecdc131bac75a32bea9b33f');
INSERT INTO public.tacit_entries VALUES (2, 10, 'void', 1794963443756930, NULL, '9', '{"charge":9,"kind":"void"}', '\x336ba75553b0adbdde5a858b322f9829dde36bbc47cb22c76c77debe29df08e6');
INSERT INTO public.tacit_entries VALUES (2, 11, 'charge', 1794963443757703, 'alice', 'k5', '{"analyst":"alice","delta":"0","holders":["dataset","group:lab","analyst:alice"],"key":"k5","kind":"charge","policy":"0000000000000000000000000000000000000000000000000000000000000000","process":"clinic:10430:c21bb751cc0f:d0e4d750fc170655c4b8ba25cf5aabff","program":{"delta":null,"query":"begun, and no answer","relation":"add_remove","steps":[{"concentrated":false,"mechanism":{"granularity":"1/1048576","name":"Laplace","scale":"1"},"name":"count","sensitivity":{"dimension":null,"l1":"1","l2":null,"linf":"1"}}],"tables":["visits"],"unit":"row","version":1},"spend":"1000000000000"}', '\xd600003c2c6c872d2d41c015cdf5aca51e4861a304697046a69982b8671e5c01');
INSERT INTO public.tacit_entries VALUES (2, 12, 'limit', 1794963443759845, NULL, NULL, '{"before":{"each":null,"total":{"delta":"0","spend":"100000000000000"}},"each":null,"holder":"dataset","kind":"limit","policy":"0000000000000000000000000000000000000000000000000000000000000000","total":{"delta":"0","spend":"90000000000000"}}', '\x21ef3b4df874efe82a4b35e764c7100b338e593c80d39daa6c82735405a2d0c6');
INSERT INTO public.tacit_entries VALUES (3, 1, 'open', 1794963443761472, NULL, NULL, '{"currency":"epsilon","delta":"1/1000000","kind":"open","lifetime":null,"people":"staff","period":null,"policy":"0000000000000000000000000000000000000000000000000000000000000000","relation":"add_remove","unit":"row"}', '\x0b3f5b37a522fbad2b412145a319318caf2cac6bb39a4d03d4a3a95ce01caf68');
INSERT INTO public.tacit_entries VALUES (3, 2, 'limit', 1794963443761472, NULL, NULL, '{"before":null,"each":null,"holder":"dataset","kind":"limit","policy":"0000000000000000000000000000000000000000000000000000000000000000","total":{"delta":"0","spend":"100000000000000"}}', '\x3e59796f5400fc82bbf45d2d852b8f43bc005e42dc04a4cbbab2f0c0bc2d1c50');
INSERT INTO public.tacit_entries VALUES (3, 3, 'limit', 1794963443761472, NULL, NULL, '{"before":null,"each":null,"holder":"analyst:alice","kind":"limit","policy":"0000000000000000000000000000000000000000000000000000000000000000","total":{"delta":"0","spend":"100000000000000"}}', '\x2a358abcbf78aabbf1ab280141b87d580edd51cf07a5deadfdf560085694bcaa');
INSERT INTO public.tacit_entries VALUES (1, 2, 'open', 1794963443761472, NULL, NULL, '{"genesis":"0b3f5b37a522fbad2b412145a319318caf2cac6bb39a4d03d4a3a95ce01caf68","kind":"open","people":"staff"}', '\xe865db167c407f054273f9f50805bfe0e2f2cb682c88b96e32ae64ff66f31958');
INSERT INTO public.tacit_entries VALUES (3, 4, 'limit', 1794963443765374, NULL, NULL, '{"before":null,"each":null,"holder":"analyst:carol","kind":"limit","policy":"0000000000000000000000000000000000000000000000000000000000000000","total":{"delta":"0","spend":"100000000000000"}}', '\xe7418903a8b1f28e86d28087235e80022fd86bb5d0f8773be10ef4e74ef1b7b1');
INSERT INTO public.tacit_entries VALUES (3, 5, 'charge', 1794963443765374, 'carol', 'k1', '{"analyst":"carol","delta":"0","holders":["dataset","analyst:carol"],"key":"k1","kind":"charge","policy":"0000000000000000000000000000000000000000000000000000000000000000","process":"clinic:10430:c21bb751cc0f:74098da2f6561005e71e4db8655c0591","program":{"delta":null,"query":"count","relation":"add_remove","steps":[{"concentrated":false,"mechanism":{"granularity":"1/1048576","name":"Laplace","scale":"1"},"name":"count","sensitivity":{"dimension":null,"l1":"1","l2":null,"linf":"1"}}],"tables":["visits"],"unit":"row","version":1},"spend":"1000000000000"}', '\x8d3032333547209a8c8c0bf9b91ef19229d590954956ba01f08033f7ac36b224');
INSERT INTO public.tacit_entries VALUES (3, 6, 'rename', 1794963443766910, NULL, NULL, '{"after":"employees","before":"staff","kind":"rename"}', '\x3ab54b017b491b3ad5bc9addcdc79d9fd88e0587685f7a4894afa492f7632bd3');
INSERT INTO public.tacit_entries VALUES (3, 7, 'seal', 1794963443768003, NULL, NULL, '{"kind":"seal","why":"the study ended"}', '\x11150eaf2cb67b85a9bb5b8fe1681ec308a505d0a581739f78efd0e59dc18f2b');
INSERT INTO public.tacit_entries VALUES (4, 4, 'reset', 1794963443772314, NULL, NULL, '{"kind":"reset","window":2}', '\x029a6fc69950e69abd419e2b58bb7754a898675d2a11d0e47ec72b83ece50beb');
INSERT INTO public.tacit_entries VALUES (4, 1, 'open', 1794963443769686, NULL, NULL, '{"currency":"epsilon","delta":"1/1000000","kind":"open","lifetime":null,"people":"shoppers","period":1000,"policy":"0000000000000000000000000000000000000000000000000000000000000000","relation":"add_remove","unit":"row"}', '\xd8de3c15ae176f2a0ad6df4dd58835b37ca614e5fb29bf4937259a503882913f');
INSERT INTO public.tacit_entries VALUES (4, 2, 'limit', 1794963443769686, NULL, NULL, '{"before":null,"each":null,"holder":"dataset","kind":"limit","policy":"0000000000000000000000000000000000000000000000000000000000000000","total":{"delta":"0","spend":"100000000000000"}}', '\xb8195dfcc7f201235ad7968076440cd153df3091cbad243cd785de5bfd862b96');
INSERT INTO public.tacit_entries VALUES (4, 3, 'limit', 1794963443769686, NULL, NULL, '{"before":null,"each":null,"holder":"analyst:alice","kind":"limit","policy":"0000000000000000000000000000000000000000000000000000000000000000","total":{"delta":"0","spend":"100000000000000"}}', '\x8b2159b5cc398952df780f31287229281a316d372f9fed5b3abf42628a56a297');
INSERT INTO public.tacit_entries VALUES (1, 3, 'open', 1794963443769686, NULL, NULL, '{"genesis":"d8de3c15ae176f2a0ad6df4dd58835b37ca614e5fb29bf4937259a503882913f","kind":"open","people":"shoppers"}', '\x1f1d3256a68ebdaced608ce0e5831f24f39d2c559fc89c83cd73bea907c82616');
INSERT INTO public.tacit_entries VALUES (4, 5, 'charge', 1794963443772314, 'alice', 'k0', '{"analyst":"alice","delta":"0","holders":["dataset","analyst:alice"],"key":"k0","kind":"charge","policy":"0000000000000000000000000000000000000000000000000000000000000000","process":"clinic:10430:c21bb751cc0f:056865673f4b9d6d702c462502387275","program":{"delta":null,"query":"count","relation":"add_remove","steps":[{"concentrated":false,"mechanism":{"granularity":"1/1048576","name":"Laplace","scale":"1"},"name":"count","sensitivity":{"dimension":null,"l1":"1","l2":null,"linf":"1"}}],"tables":["visits"],"unit":"row","version":1},"spend":"1000000000000"}', '\x90d9ff053e867387ba05a41ee1d67a4def30e6a6b8fc61c16fa1de8ff1c67ad0');
INSERT INTO public.tacit_entries VALUES (4, 6, 'reset', 1794963443773081, NULL, NULL, '{"kind":"reset","window":3}', '\x24473e72728fb1148b7d9da0ee9c3f041908e23fec0aaae2310bd75c67d65c96');
INSERT INTO public.tacit_entries VALUES (4, 7, 'charge', 1794963443773081, 'alice', 'k1', '{"analyst":"alice","delta":"0","holders":["dataset","analyst:alice"],"key":"k1","kind":"charge","policy":"0000000000000000000000000000000000000000000000000000000000000000","process":"clinic:10430:c21bb751cc0f:0994c221331b5cce49baa04d2c90d061","program":{"delta":null,"query":"count","relation":"add_remove","steps":[{"concentrated":false,"mechanism":{"granularity":"1/1048576","name":"Laplace","scale":"1"},"name":"count","sensitivity":{"dimension":null,"l1":"1","l2":null,"linf":"1"}}],"tables":["visits"],"unit":"row","version":1},"spend":"1000000000000"}', '\xfb91d600fe0fc9bfc47456edd8e10a3f469fbe2ce7c9a28a0dcb2c2a6894200d');
INSERT INTO public.tacit_entries VALUES (4, 8, 'charge', 1794963443773466, 'alice', 'k2', '{"analyst":"alice","delta":"0","holders":["dataset","analyst:alice"],"key":"k2","kind":"charge","policy":"0000000000000000000000000000000000000000000000000000000000000000","process":"clinic:10430:c21bb751cc0f:222fa2d1de8340873861f7ff6aad5296","program":{"delta":null,"query":"count","relation":"add_remove","steps":[{"concentrated":false,"mechanism":{"granularity":"1/1048576","name":"Laplace","scale":"1"},"name":"count","sensitivity":{"dimension":null,"l1":"1","l2":null,"linf":"1"}}],"tables":["visits"],"unit":"row","version":1},"spend":"1000000000000"}', '\x6a086565b066d76644f94282db3442a57a11e38dd0b18da12baedac4e4b2edc8');
INSERT INTO public.tacit_entries VALUES (2, 13, 'begin', 1794963443788801, NULL, '11', '{"charge":11,"kind":"begin"}', '\xd9e9b4a4ef4defa70e672547203d43ef7afe4e852bf99e540a8d56d51b7f5515');
INSERT INTO public.tacit_entries VALUES (1, 4, 'adopt', 1794963443790229, NULL, NULL, '{"kind":"adopt","why":"a test of adopting"}', '\xff0c8b5a516227d40397cf7f89c81978ae776eeb3bb7314223f1f6167cb59ed7');
INSERT INTO public.tacit_sources VALUES ('file:/srv/clinic/visits.parquet', 2);
INSERT INTO public.tacit_sources VALUES ('postgresql://db.example:5432/clinic', 2);
INSERT INTO public.tacit_sources VALUES ('file:/srv/clinic/staff.csv', 3);
ALTER TABLE ONLY public.tacit_accounts
    ADD CONSTRAINT tacit_accounts_people_key UNIQUE (people);
ALTER TABLE ONLY public.tacit_accounts
    ADD CONSTRAINT tacit_accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tacit_answers
    ADD CONSTRAINT tacit_answers_pkey PRIMARY KEY (account, seq);
ALTER TABLE ONLY public.tacit_balances
    ADD CONSTRAINT tacit_balances_pkey PRIMARY KEY (account, holder);
ALTER TABLE ONLY public.tacit_entries
    ADD CONSTRAINT tacit_entries_account_analyst_key_key UNIQUE (account, analyst, key);
ALTER TABLE ONLY public.tacit_entries
    ADD CONSTRAINT tacit_entries_pkey PRIMARY KEY (account, seq);
ALTER TABLE ONLY public.tacit_sources
    ADD CONSTRAINT tacit_sources_pkey PRIMARY KEY (source);
CREATE INDEX tacit_answers_cache ON public.tacit_answers USING btree (account, scope, program, version);
ALTER TABLE ONLY public.tacit_answers
    ADD CONSTRAINT tacit_answers_account_fkey FOREIGN KEY (account) REFERENCES public.tacit_accounts(id);
ALTER TABLE ONLY public.tacit_balances
    ADD CONSTRAINT tacit_balances_account_fkey FOREIGN KEY (account) REFERENCES public.tacit_accounts(id);
ALTER TABLE ONLY public.tacit_sources
    ADD CONSTRAINT tacit_sources_account_fkey FOREIGN KEY (account) REFERENCES public.tacit_accounts(id);
