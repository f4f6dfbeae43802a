"""One charge inside PostgreSQL: a function that checks every limit and writes the entries, in one round trip.

The account's row is locked first, so charges to one account stand in line and no two transactions can wait for each
other. Each later statement of a volatile function sees what was committed before it began (READ COMMITTED), which is
everything, since whoever changes an account holds that lock until it has committed. Money is NUMERIC, hence exact. The
caller writes the bodies of the entries, as one writer of JSON is enough.

An ordinary charge (the window is open, all holders are known, all limits hold, the key is new) is three statements
that check while they write. Where one of them finds otherwise, they are rolled back to where they began, and the
careful part follows the steps of `store.py` one by one, with all checks before all writes.

It answers with the entry in 48 bytes: its number, time and digest. Anything else is a JSON array that begins with a
word: replayed (the key was used before; number, time, digest and body of that entry), over (which holder, held to what,
what is left), first (there are holders without a balance: ask again with the bodies of their limit entries), moved,
sealed, lost (the newest entry that the caller has seen is gone), unsafe (the server would lose commits in a crash:
fsync is off).
"""

__all__ = ["ASK", "CHARGE", "FORMER", "NAME"]

NAME = "tacit_charge_2"  # a migration that changes the function gives it the next number

ASK = f"SELECT {NAME}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)".encode()

# the function of version 1, so that a process of an older release cannot charge any more
FORMER = """
DROP FUNCTION IF EXISTS
    tacit_charge_1(integer, text, text, text, numeric, numeric, text[], numeric[], boolean, text, text[])
"""

# `limits_` has four numbers a holder: spend and delta in all, spend and delta of one program or NULL.
# `ordinary_` says that the program is within the latter. There is no percent sign in it, which drivers would read.
CHARGE = f"""
CREATE OR REPLACE FUNCTION {NAME}(
    account_ integer, people_ text, analyst_ text, key_ text, spend_ numeric, delta_ numeric,
    holders_ text[], limits_ numeric[], ordinary_ boolean, body_ text, limit_bodies_ text[],
    seen_ bigint, seen_mark_ bytea
) RETURNS bytea LANGUAGE plpgsql VOLATILE AS $function$
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
            IF own.seq IS NULL OR (seen_ IS NOT NULL AND NOT EXISTS (SELECT FROM tacit_entries e
                    WHERE e.account = account_ AND e.seq = seen_ AND e.digest = seen_mark_)) THEN
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
    IF seen_ IS NOT NULL AND (own.seq < seen_ OR NOT EXISTS (SELECT FROM tacit_entries e
            WHERE e.account = account_ AND e.seq = seen_ AND e.digest = seen_mark_)) THEN
        RETURN '["lost"]';
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
        line := '{{"kind":"reset","window":' || own.window || '}}';
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
$function$
"""
