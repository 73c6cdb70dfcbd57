"""The faults this store was built against, each as the smallest edit that brings it back.

A row names the tests that must turn red under its edit, and what goes wrong in a fleet when nobody
notices. `python -m tests.mutations` tries every row on a copy of the tree.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One replacement in one file, whose old text stands there exactly once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One fault.

    Attributes:
        id: its name on the command line.
        fault: what it does to a fleet.
        edits: the change that brings it back.
        tests: pytest node ids; every one of them must fail. A name without its parameters stands
            for all of them, of which one failing is enough.
        harmless: the edit changes nothing that matters, so every test must pass.
    """

    id: str
    fault: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
    harmless: bool = False


CONTRACT: Final = "tests/contract"
CHURN: Final = "tests/churn/test_churn.py::test_seeded_histories_on_the_twin_break_no_promise"

LISTINGS: Final = (
    Mutation(
        id="listing-without-the-index",
        fault="A pass that lost a key under rewrites is handed over as the whole fleet.",
        edits=(
            Edit(
                file="coordination/jetstream/listing.py",
                old="for key in keys_to_read(index.keys, passed):",
                new="for key in keys_to_read((), passed):",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_listing_faults.py::"
            "test_a_key_the_pass_never_delivered_costs_exactly_one_leader_read[jetstream]",
        ),
    ),
    Mutation(
        id="marker-trusted",
        fault="A removal the pass delivered hides the record that was created again behind it.",
        edits=(
            Edit(
                file="coordination/rules/listing.py",
                old="if not passed.get(key, False)",
                new="if key not in passed",
            ),
        ),
        tests=(
            "tests/rules/test_listing.py::test_a_marker_is_no_answer_for_a_key_the_leader_names",
            f"{CONTRACT}/test_listing_faults.py::"
            "test_markers_cost_a_leader_read_each_until_they_are_swept[jetstream]",
        ),
    ),
    Mutation(
        id="pass-never-ends-when-quiet",
        fault="A pass the broker stopped feeding is waited for until its caller gives up.",
        edits=(
            Edit(
                file="coordination/jetstream/listing.py",
                old="            ends = loop.time() + quiet.total_seconds()\n        item = ",
                new="            ends = None\n        item = ",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_listing_faults.py::"
            "test_a_pass_the_broker_stopped_feeding_is_ended_and_certified[jetstream]",
        ),
    ),
    Mutation(
        id="leaderless-index-trusted",
        fault="While a stream elects its leader, an empty index certifies an empty fleet.",
        edits=(
            Edit(
                file="coordination/jetstream/index.py",
                old="return self.cluster is None or bool(self.cluster.leader)",
                new="return True",
            ),
        ),
        tests=(
            "tests/jetstream/test_faults.py::"
            "test_an_index_no_leader_vouches_for_fails_the_listing_whole",
        ),
    ),
    Mutation(
        id="index-of-one-page",
        fault="Beyond the index's first page a lost key is never looked for.",
        edits=(
            Edit(
                file="coordination/jetstream/index.py",
                old="if not page.state.subjects or offset >= page.total:",
                new="if offset >= 0:",
            ),
        ),
        tests=("tests/jetstream/test_faults.py::test_the_index_is_read_in_pages_until_its_total",),
    ),
    Mutation(
        id="empty-segment-accepted",
        fault="A lease with an empty name is held and no listing ever shows it.",
        edits=(
            Edit(
                file="coordination/rules/keys.py",
                old="if not names or not all(names):",
                new="if not names:",
            ),
            Edit(
                file="coordination/rules/keys.py",
                old="len(self.parts) < 2 or not all(self.parts) or",
                new="len(self.parts) < 2 or",
            ),
        ),
        tests=(
            "tests/rules/test_keys.py::test_a_name_that_cannot_be_listed_again_is_refused",
            "tests/rules/test_keys.py::"
            "test_no_resource_is_made_of_parts_that_no_listing_reads_back",
        ),
    ),
    Mutation(
        id="all-classes-listing",
        fault="A wildcard taken for a class answers with everything, or quietly with nothing.",
        edits=(
            Edit(
                file="coordination/rules/keys.py",
                old="if not name or escape(name) != name:",
                new="if not name:",
            ),
        ),
        tests=(
            "tests/rules/test_keys.py::test_a_class_that_cannot_address_keys_is_refused",
            f"{CONTRACT}/test_lease_reads.py::"
            "test_a_class_that_cannot_address_keys_is_an_error_never_an_empty_answer[memory-se.at]",
        ),
    ),
    Mutation(
        id="watch-repeats-what-was-listed",
        fault="A watch hands over an older revision than its own answer: a lifted pause is back.",
        edits=(
            Edit(
                file="coordination/jetstream/watch.py",
                old="if entry.revision <= self._seen.get(entry.key, 0):",
                new="if entry.revision < 0:",
            ),
        ),
        tests=(
            "tests/jetstream/test_watch.py::test_a_delivery_that_the_answer_already_holds_is_no_change",
        ),
    ),
)

ANSWERS: Final = (
    Mutation(
        id="any-replica-answers-a-read",
        fault="A replica that is behind says that nothing is there, and a held seat is taken.",
        edits=(
            Edit(
                file="coordination/jetstream/reads.py",
                old="""    verb = f"STREAM.MSG.GET.{stream_of(bucket)}"
    reply = await broker.api(verb, """,
                new="""    direct = await broker.ask(
        broker.api_subject(f"DIRECT.GET.{stream_of(bucket)}"), payload
    )
    if not isinstance(direct, Silence):
        told = dict(direct.headers or {})
        if told.get("Status") == "404":
            return Absent()
        block = "".join(f"\\r\\n{name}: {value}" for name, value in told.items())
        return StoredMessage(
            subject=told["Nats-Subject"],
            seq=int(told["Nats-Sequence"]),
            time=told["Nats-Time-Stamp"],
            data=direct.data,
            hdrs=b"NATS/1.0" + block.encode(),
        )
    verb = f"STREAM.MSG.GET.{stream_of(bucket)}"
    reply = await broker.api(verb, """,
            ),
        ),
        tests=(
            f"{CONTRACT}/test_listing_faults.py::"
            "test_a_leader_read_tells_value_marker_and_nothing_apart[jetstream]",
        ),
    ),
    Mutation(
        id="silence-read-as-absence",
        fault="A read that nobody answered says that nobody holds the seat.",
        edits=(
            Edit(
                file="coordination/jetstream/reads.py",
                old="""    if isinstance(reply, Silence):
        msg =""",
                new="""    if isinstance(reply, Silence):
        return Absent()
        msg =""",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_three_answers.py::"
            "test_no_read_of_an_unreachable_store_answers_nothing_there[jetstream-cut]",
        ),
    ),
    Mutation(
        id="lost-acknowledgement-is-a-no",
        fault="A write that landed is reported as lost, because its acknowledgement was.",
        edits=(
            Edit(
                file="coordination/jetstream/writes.py",
                old="        ack = _ack_of(reply, draft)\n",
                new="        if isinstance(reply, Silence):\n            return Conflict()\n"
                "        ack = _ack_of(reply, draft)\n",
            ),
        ),
        tests=(
            "tests/jetstream/test_connection.py::"
            "test_a_write_not_acknowledged_in_time_has_an_unknown_outcome",
        ),
    ),
    Mutation(
        id="in-process-is-a-lost-race",
        fault="The broker is still finishing an earlier write, and a free seat is refused as held.",
        edits=(
            Edit(
                file="coordination/jetstream/writes.py",
                old="if ack.error.err_code == Code.COMPARED_AND_LOST:",
                new="if ack.error.err_code in (Code.COMPARED_AND_LOST, *_UNDECIDED):",
            ),
        ),
        tests=(
            "tests/jetstream/test_faults.py::"
            "test_a_refusal_in_process_is_asked_again_until_it_is_decided",
        ),
    ),
    Mutation(
        id="undecodable-pause-skipped",
        fault="A pause that cannot be read is left out, and a stopped seat goes back to work.",
        edits=(
            Edit(
                file="coordination/slots/pauses.py",
                old='handle=%s error=%r", handle, fault)\n            raise',
                new='handle=%s error=%r", handle, fault)\n            return None',
            ),
        ),
        tests=(
            "tests/slots/test_pauses.py::"
            "test_an_undecodable_change_ends_the_watch_and_lifts_nothing",
        ),
    ),
    Mutation(
        id="pause-overwritten",
        fault="The second operator to pause a seat erases who paused it first, and why.",
        edits=(
            Edit(
                file="coordination/slots/pauses.py",
                old="await create(self._bucket, key, body, message_id=pause.request_id)",
                new="await self._bucket.put(key, body, message_id=pause.request_id)",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_pauses.py::test_a_second_pause_never_overwrites_the_first[memory]",
        ),
    ),
    Mutation(
        id="payload-race",
        fault="A loser's payload lands after the winner's, and the fleet runs what nobody applied.",
        edits=(
            Edit(
                file="coordination/slots/config.py",
                old="return await self._bucket.put_beside("
                "PAYLOAD, wanted.body, other=POINTER, expected=pointer)",
                new="return await self._bucket.put(PAYLOAD, wanted.body)",
            ),
        ),
        tests=(
            "tests/slots/test_config.py::"
            "test_a_payload_that_comes_after_a_winner_never_overwrites_the_winners",
        ),
    ),
)

LEASES: Final = (
    Mutation(
        id="epoch-reset-on-release",
        fault="A release forgets the counter: the next holder's token is one already used.",
        edits=(
            Edit(
                file="coordination/slots/leases.py",
                old="            return NotHeld(because=lost)\n",
                new="            return NotHeld(because=lost)\n"
                "        await self._epochs.bucket.purge_through(lease.resource.key, 10**15)\n",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_lease_tenure.py::"
            "test_a_release_does_not_restart_the_counter_for_a_peer[memory]",
            f"{CONTRACT}/test_lease_tenure.py::"
            "test_a_release_does_not_restart_the_counter_for_the_same_owner[memory]",
            CHURN,
        ),
    ),
    Mutation(
        id="epoch-not-raised",
        fault="A take-over hands out the dead holder's token, and its late writes are accepted.",
        edits=(
            Edit(
                file="coordination/slots/epochs.py",
                old="epoch=found.epoch + 1 if found else 1,",
                new="epoch=found.epoch if found else 1,",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_lease_tenure.py::"
            "test_a_peer_claims_a_lapsed_seat_at_a_higher_epoch[memory]",
            f"{CONTRACT}/test_lease_tenure.py::test_epochs_only_rise_over_many_tenures[memory]",
            CHURN,
        ),
    ),
    Mutation(
        id="gap-does-not-end-the-tenure",
        fault="An owner that let its lease lapse goes on at its old token as if never away.",
        edits=(
            Edit(
                file="coordination/rules/leases.py",
                old="if standing is None or not held:",
                new="if standing is None or not (held or standing.owner == owner):",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_lease_tenure.py::"
            "test_the_gap_ends_the_tenure_even_for_the_same_owner[memory]",
            "tests/rules/test_leases.py::test_an_acquire_moves_by_what_stands_and_whose_it_is",
            CHURN,
        ),
    ),
    Mutation(
        id="undecodable-counter-restarts",
        fault="A counter that cannot be read is begun again at one.",
        edits=(
            Edit(
                file="coordination/slots/epochs.py",
                old="                record = decode(EpochRecord, entry.value, "
                "subject=entry.key)\n",
                new="                try:\n"
                "                    record = decode(EpochRecord, entry.value, "
                "subject=entry.key)\n"
                "                except CorruptRecord:\n"
                "                    record = None\n",
            ),
        ),
        tests=(
            "tests/slots/test_leases.py::"
            "test_a_counter_that_cannot_be_read_is_never_begun_again[False]",
        ),
    ),
    Mutation(
        id="lapsed-lease-renewed",
        fault="A node that slept past its deadline renews what a peer may be claiming now.",
        edits=(
            Edit(
                file="coordination/slots/tenures.py",
                old="return stood if await lane.is_held(stood.standing) else LostReason.LAPSED",
                new="return stood",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_lease_tenure.py::"
            "test_a_lapsed_lease_is_re_claimed_never_renewed[memory]",
            f"{CONTRACT}/test_three_answers.py::test_a_lapsed_tenure_is_a_no_and_no_error[memory]",
            CHURN,
        ),
    ),
    Mutation(
        id="old-token-renews",
        fault="A zombie's renewal is accepted although its own later tenure has another token.",
        edits=(
            Edit(
                file="coordination/rules/leases.py",
                old="standing.owner != owner or standing.epoch != epoch or standing.is_claiming",
                new="standing.owner != owner or standing.is_claiming",
            ),
        ),
        tests=(
            "tests/rules/test_leases.py::test_a_tenure_is_matched_on_owner_epoch_and_life",
            CHURN,
        ),
    ),
    Mutation(
        id="claim-not-compared",
        fault="Two nodes claim one free seat and both are told that it is theirs.",
        edits=(
            Edit(
                file="coordination/slots/acquiring.py",
                old="claimed = await lane.bucket.update("
                "key, body_of(making.claiming), making.made_over)",
                new="claimed = await lane.bucket.put(key, body_of(making.claiming))",
            ),
        ),
        tests=(CHURN,),
    ),
    Mutation(
        id="tenure-not-compared",
        fault="A claim written over by a faster peer still becomes a tenure, over the peer's own.",
        edits=(
            Edit(
                file="coordination/slots/acquiring.py",
                old="write = lane.bucket.update(key, body_of(tenure), claimed.revision)",
                new="write = lane.bucket.put(key, body_of(tenure))",
            ),
        ),
        tests=(CHURN,),
    ),
    Mutation(
        id="renewal-not-compared",
        fault="A renewal that hung for a while overwrites the lease of whoever took over.",
        edits=(
            Edit(
                file="coordination/slots/leases.py",
                old="answer = await lane.bucket.update("
                "lease.resource.key, body_of(record), stood.revision)",
                new="answer = await lane.bucket.put(lease.resource.key, body_of(record))",
            ),
        ),
        tests=(CHURN,),
    ),
    Mutation(
        id="release-not-compared",
        fault="A release that hung for a while gives back the lease of whoever took over.",
        edits=(
            Edit(
                file="coordination/slots/tenures.py",
                old="await lane.bucket.update(resource.key, body, stood.revision)",
                new="await lane.bucket.put(resource.key, body)",
            ),
        ),
        tests=(CHURN,),
    ),
    Mutation(
        id="half-made-claim-left-behind",
        fault="A claim that failed half way keeps the seat from everybody until its TTL.",
        edits=(
            Edit(
                file="coordination/slots/acquiring.py",
                old="if plan is Abandonment.NOTHING:",
                new="if plan in Abandonment:",
            ),
        ),
        tests=(
            "tests/slots/test_half_made_claims.py::"
            "test_a_counter_refused_mid_claim_leaves_nothing_held",
            f"{CONTRACT}/test_lease_deadlines.py::"
            "test_a_claim_whose_epoch_was_refused_leaves_the_seat_free[jetstream-a-peer]",
        ),
    ),
    Mutation(
        id="duty-in-the-seat-bucket",
        fault="A daily duty is reaped after 45 seconds, and runs on every node at once.",
        edits=(
            Edit(
                file="coordination/rules/keys.py",
                old='return self.name in ("seat", "node")',
                new="return bool(self.name)",
            ),
        ),
        tests=(
            "tests/rules/test_keys.py::"
            "test_seats_and_presences_live_under_the_lease_ttl_and_nothing_else_does",
            f"{CONTRACT}/test_duties.py::test_a_duty_outlives_the_seat_leases_ttl_by_hours[memory]",
        ),
    ),
    Mutation(
        id="ttl-clamped",
        fault="A node believes in a longer lease than the broker keeps for it.",
        edits=(
            Edit(
                file="coordination/slots/leases.py",
                old="        check_claim(resource, owner, ttl, self._ttl_in_force)\n",
                new="        ttl = min(ttl, self._ttl_in_force)\n"
                "        check_claim(resource, owner, ttl, self._ttl_in_force)\n",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_lease_deadlines.py::"
            "test_a_ttl_above_the_buckets_age_is_an_error_and_the_age_itself_is_granted[jetstream]",
        ),
    ),
    Mutation(
        id="duty-without-a-ceiling",
        fault="A duty asks for longer than its bucket keeps it, and is lost while it is held.",
        edits=(
            Edit(
                file="coordination/rules/leases.py",
                old="is_seat_lane else MAX_DUTY_TTL",
                new="is_seat_lane else timedelta.max",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_duties.py::"
            "test_a_duty_longer_than_three_hours_is_an_error_everywhere[memory]",
            "tests/rules/test_leases.py::"
            "test_seats_are_bounded_by_the_age_and_duties_by_three_hours",
        ),
    ),
    Mutation(
        id="gate-counts-duties",
        fault="A stranded duty of an old build keeps every newer node from every seat for hours.",
        edits=(
            Edit(
                file="coordination/slots/leases.py",
                old="self._gate = Gate(leases, log)",
                new="self._gate = Gate(duties, log)",
            ),
            Edit(
                file="coordination/slots/protocol_view.py",
                old="not resource.resource_class.is_seat_lane",
                new="not resource.resource_class.name",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_gate.py::test_a_duty_states_its_build_and_holds_no_seat_back[memory]",
        ),
    ),
    Mutation(
        id="gate-not-judged-behind-the-write",
        fault="An older build that joined during a claim runs beside a newer one's seat.",
        edits=(
            Edit(
                file="coordination/slots/acquiring.py",
                old="        if claim.gate is not None and await claim.gate.blocks("
                "claim.protocol):\n            if fresh:",
                new="        if claim.gate is None and not claim.protocol:\n            if fresh:",
            ),
        ),
        tests=(
            "tests/slots/test_gate.py::"
            "test_an_older_build_seen_only_behind_the_claim_has_it_given_back",
        ),
    ),
)

BUCKETS: Final = (
    Mutation(
        id="adopted-ttl-rewritten",
        fault="A node with another setting changes the lease TTL under a fleet that runs by it.",
        edits=(
            Edit(
                file="coordination/jetstream/buckets.py",
                old="if kept.raised and kept.age is not None:",
                new="if kept.age is not None:",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_buckets.py::"
            "test_a_bucket_made_with_another_age_keeps_it_and_says_so[jetstream-leases]",
        ),
    ),
    Mutation(
        id="too-few-replicas-accepted",
        fault="A fleet believes in three copies, has one, and learns it when that member dies.",
        edits=(
            Edit(
                file="coordination/jetstream/opening.py",
                old="if replicas > 1 and kept < replicas:",
                new="if kept < 1:",
            ),
        ),
        tests=(
            f"{CONTRACT}/test_buckets.py::"
            "test_too_few_replicas_refuse_the_start_naming_both_counts_and_the_setting"
            "[jetstream-leases]",
        ),
    ),
    Mutation(
        id="sweep-takes-what-is-newer",
        fault="A pause made again during the sweep goes with the marker of the one before.",
        edits=(
            Edit(
                file="coordination/slots/markers.py",
                old="purge_through(marker.key, marker.revision)",
                new="purge_through(marker.key, 10**15)",
            ),
        ),
        tests=(
            "tests/slots/test_markers.py::"
            "test_a_record_made_again_before_its_marker_is_purged_stays",
        ),
    ),
    Mutation(
        id="purge-without-its-revision",
        fault="The broker is asked to purge the key whole, whatever stands on it by then.",
        edits=(
            Edit(
                file="coordination/jetstream/markers.py",
                old='{"filter": subject_of(bucket, key), "seq": revision + 1}',
                new='{"filter": subject_of(bucket, key)}',
            ),
        ),
        tests=(
            "tests/jetstream/test_markers.py::"
            "test_markers_are_found_by_key_and_removed_through_their_own_revision",
        ),
    ),
    Mutation(
        id="one-bucket-stops-the-sweep",
        fault="One bucket that cannot be asked leaves every later one full of markers.",
        edits=(
            Edit(
                file="coordination/slots/markers.py",
                old="failed.append(Unswept(bucket=bucket.name, because=unknown))",
                new="failed.append(Unswept(bucket=bucket.name, because=unknown))\n"
                "                break",
            ),
        ),
        tests=(
            "tests/slots/test_markers.py::"
            "test_one_buckets_failure_stops_none_of_the_others_and_is_named",
        ),
    ),
    Mutation(
        id="fencing-counters-swept",
        fault="Housekeeping reaches the counters that tokens are minted from.",
        edits=(
            Edit(
                file="coordination/rules/retention.py",
                old="tuple(kept for kept in FLEET if kept.age is None)",
                new="(EPOCHS, *(kept for kept in FLEET if kept.age is None))",
            ),
        ),
        tests=(
            "tests/rules/test_retention.py::"
            "test_what_is_swept_is_every_ageless_bucket_of_the_fleet_and_no_fencing_counter",
        ),
    ),
)

CONTROLS: Final = (
    Mutation(
        id="harmless",
        fault="None: it says the same in other words, so a harness that calls it caught is broken.",
        edits=(
            Edit(
                file="coordination/rules/leases.py",
                old="    if standing.is_tombstone:\n        return LostReason.RELEASED\n",
                new="    if not standing.owner:\n        return LostReason.RELEASED\n",
            ),
        ),
        tests=(
            "tests/rules/test_leases.py::test_a_tenure_is_matched_on_owner_epoch_and_life",
            "tests/slots/test_leases.py",
            CHURN,
        ),
        harmless=True,
    ),
)

TABLE: Final = (*LISTINGS, *ANSWERS, *LEASES, *BUCKETS, *CONTROLS)
