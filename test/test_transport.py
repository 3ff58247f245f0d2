"""The transport: whatever the bytes, the fast path says what the client library says."""

import os
import struct
import threading
import time
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from fuzz import FUZZED
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from hypothesis import example, given
from hypothesis import strategies as st
from rclpy.context import Context
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.signals import SignalHandlerOptions
from ros_processes import RosGraph
from sensor_msgs.msg import JointState
from std_msgs.msg import UInt8MultiArray
from std_srvs.srv import Trigger
from wall_time import Stopwatch

from icir_control.errors import InvalidValueError
from icir_control.nodes.composed import Link
from icir_control.nodes.transport import endpoints
from icir_control.nodes.transport.batches import BATCHES, QUEUE, MessageBatches, read_batch
from icir_control.nodes.transport.endpoints import (
    JointStatePublisher,
    JointStateSubscription,
)
from icir_control.nodes.transport.messages import (
    JointStateDecoder,
    JointStateLayout,
    StampedLayout,
)
from icir_control.nodes.transport.outcome import POSE, Outcome, Request
from icir_control.nodes.transport.waiter import Waiter

# Lengths that are no multiples of four: the padding behind them holds whatever was in memory.
NAMES = ('shoulder', 'elbow_2', 'wrist', 'j')
FIELDS = ('position', 'velocity')


def message(names=NAMES, token='run-1', stamp=(3, 4), **fields):
    state = JointState()
    state.header.frame_id = token
    state.header.stamp.sec, state.header.stamp.nanosec = stamp
    state.name = list(names)
    for field, numbers in fields.items():
        setattr(state, field, list(numbers))
    return state


def good(seed=0, names=NAMES, **changes):
    numbers = np.random.default_rng(seed).normal(size=(2, len(names)))
    return message(names, position=numbers[0], velocity=numbers[1], **changes)


def outcome(decoder, raw):
    """Everything that a user of the decoder can see after one message."""
    before = decoder.rejected.copy()
    taken = decoder.decode(raw)
    return (
        taken,
        decoder.stamp_ns,
        decoder.token,
        decoder.position.tobytes(),
        decoder.velocity.tobytes(),
        decoder.effort.tobytes(),
        decoder.rejected - before,
        decoder.last_rejection,
    )


def assert_same(raws, fields=FIELDS):
    fast = JointStateDecoder(NAMES, fields)
    reference = JointStateDecoder(NAMES, fields, plain=True)
    for raw in raws:
        assert outcome(fast, raw) == outcome(reference, raw)
    return fast


floats = st.floats(width=64) | st.sampled_from([0.0, -0.0, 1.5, 1e308, 5e-324])
names = st.permutations(NAMES) | st.lists(
    st.sampled_from([*NAMES, 'gripper', '', 'é']), max_size=6
)
tokens = st.sampled_from(['run-1', 'run-2', '', 'ü', 'a longer token than before']) | st.text(
    st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=20
)


@st.composite
def messages(draw):
    chosen = draw(names)
    length = st.just(len(chosen)) | st.sampled_from([0, len(chosen)]) | st.integers(0, 6)
    numbers = st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=6) | st.lists(
        floats, min_size=6, max_size=6
    )
    return message(
        chosen,
        draw(tokens),
        (draw(st.integers(-2, 2**31 - 1)), draw(st.integers(0, 2**32 - 1) | st.just(5))),
        **{field: draw(numbers)[: draw(length)] for field in ('position', 'velocity', 'effort')},
    )


@given(st.lists(messages(), min_size=1, max_size=4), st.booleans())
@FUZZED
def test_any_message_is_read_as_the_client_library_reads_it(states, twice):
    raws = [serialize_message(state) for state in states]
    # A good one first, so that there is a learnt layout to be misled by.
    assert_same([serialize_message(good()), *raws, *(raws if twice else ())])


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=4),
    st.integers(0, 300),
    st.binary(max_size=16),
)
@example([(1, 0)], 300, b'')  # said to be big-endian
@example([(0, 6)], 300, b'')  # another encoding
@example([(3, 255)], 4, b'')  # padding behind a message that ends before it begins
@FUZZED
def test_any_bytes_are_read_as_the_client_library_reads_them(changes, length, tail):
    raw = serialize_message(good())
    broken = bytearray(raw)
    for place, value in changes:
        broken[place % len(broken)] = value
    assert_same([raw, bytes(broken[:length]) + tail, raw])


def test_a_learnt_layout_is_used_and_padding_is_not_compared():
    decoder = assert_same([serialize_message(good(seed)) for seed in range(3)])
    layout = JointStateLayout(NAMES, 'run-1', FIELDS)
    noise = bytearray(serialize_message(good(7)))
    known = decoder._known

    def is_read_by_the_kernel(raw):
        known.buffer[:] = raw
        return decoder._copy(*known.arrays) >= 0

    free = [
        i
        for i in range(len(layout.template))
        if not is_read_by_the_kernel(noise[:i] + bytes([noise[i] ^ 1]) + noise[i + 1 :])
    ]
    # Every byte that is neither number, stamp nor padding must matter.
    lengths = 4 * (1 + 1 + len(NAMES) + 3)
    texts = len('run-1') + 1 + sum(len(name) + 1 for name in NAMES)
    assert len(free) == 2 + lengths + texts
    assert decoder.decode(bytes(noise))
    assert np.array_equal(decoder.position, good(7).position)


def test_a_big_endian_publisher_is_understood():
    def text(content):
        raw = content.encode() + b'\0'
        return struct.pack('>I', len(raw)) + raw

    def pad(raw, size):
        return raw + bytes(-len(raw) % size)

    body = struct.pack('>iI', 3, 4) + text('run-1')
    body = pad(body, 4) + struct.pack('>I', len(NAMES))
    for name in NAMES:
        body = pad(body, 4) + text(name)
    for numbers in (good().position, good().velocity, ()):
        body = pad(body, 4) + struct.pack('>I', len(numbers))
        if numbers:
            body = pad(body, 8) + struct.pack(f'>{len(numbers)}d', *numbers)
    decoder = assert_same([b'\x00\x00\x00\x00' + body] * 2)
    assert decoder.stamp_ns == 3_000_000_004
    assert np.array_equal(decoder.velocity, good().velocity)


@pytest.mark.parametrize(
    ('state', 'kind', 'words'),
    [
        (good(names=(*NAMES[:3], 'gripper')), 'unknown_name', "'gripper'"),
        (good(names=(*NAMES[:3], NAMES[0])), 'repeated_name', 'twice'),
        (good(names=NAMES[:3]), 'missing_name', "'j'"),
        (message(), 'wrong_length', '0 numbers in position'),
        (message(position=[0] * 5, velocity=[0] * 4), 'wrong_length', '5 numbers'),
        (message(position=[0] * 4, velocity=[0] * 4, effort=[1]), 'wrong_length', 'effort'),
        (
            message(position=[0] * 4, velocity=[0, float('nan'), 0, 0]),
            'not_finite',
            'velocity of elbow_2 is nan',
        ),
        (message(position=[0, 0, 0, float('-inf')], velocity=[0] * 4), 'not_finite', 'j is -inf'),
        (message(position=[0, 0, 0, -1e300], velocity=[0] * 4), 'too_large', 'j is -1e+300'),
        (good(stamp=(-1, 0)), 'bad_stamp', '-1 s'),
        (good(stamp=(0, 10**9)), 'bad_stamp', '1000000000 ns'),
        (good(names=[f'name_{i}' for i in range(100_000)]), 'too_long', 'bytes'),
    ],
)
@pytest.mark.parametrize('plain', [False, True])
def test_an_invalid_message_is_counted_and_changes_nothing(state, kind, words, plain):
    decoder = JointStateDecoder(NAMES, FIELDS, plain=plain)
    assert decoder.decode(serialize_message(good()))
    held = decoder.position.copy()
    assert not decoder.decode(serialize_message(state))
    assert decoder.rejected == Counter({kind: 1})
    assert words in decoder.last_rejection
    assert np.array_equal(decoder.position, held)
    assert decoder.stamp_ns == 3_000_000_004
    assert decoder.decode(serialize_message(good(1)))
    assert np.array_equal(decoder.position, good(1).position)


def test_unknown_fields_are_refused():
    with pytest.raises(InvalidValueError, match='position, velocity, effort'):
        JointStateDecoder(NAMES, ('torque',))


def node_in(domain):
    """Return a node of its own context in a domain."""
    context = Context()
    rclpy.init(
        args=[], context=context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO
    )
    return rclpy.create_node('transport', context=context)


def end(node):
    node.destroy_node()
    rclpy.shutdown(context=node.context)


@pytest.fixture
def node(ros_graph):
    node = node_in(ros_graph.domain)
    yield node
    end(node)


@pytest.fixture(scope='module')
def observers(tmp_path_factory):
    """A node that publishes and an observer, for all examples of a property."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        with RosGraph(tmp_path_factory.mktemp('logs')) as graph:
            node = node_in(graph.domain)
            yield node, graph.observer()
            end(node)


def wait_until(condition, waiter, publish=lambda: None, timeout=20.0):
    watch = Stopwatch()
    while not condition():
        assert not watch.is_over(timeout)
        publish()
        now = time.monotonic()
        waiter.wait(now, now + 0.05)


@pytest.mark.parametrize('plain_publisher', [False, True])
@pytest.mark.parametrize('plain_subscription', [False, True])
def test_arrays_travel_unchanged(node, plain_publisher, plain_subscription):
    publisher = JointStatePublisher(node, 'states', NAMES, plain=plain_publisher)
    turned = tuple(reversed(NAMES))
    subscription = JointStateSubscription(
        node, 'states', turned, ('position', 'effort'), plain=plain_subscription
    )
    assert subscription.is_native != plain_subscription
    waiter = Waiter(node, [subscription])
    position = subscription.position
    generator = np.random.default_rng(5)
    for step in range(20):
        values = generator.normal(size=(2, len(NAMES)))
        token = f'run {step // 7}'
        stamp = step * 1_000_000_007

        def publish(stamp=stamp, token=token, values=values):
            publisher.publish(stamp, token, position=values[0], effort=values[1])

        wait_until(lambda: subscription.take(), waiter, publish)
        while subscription.stamp_ns != stamp:  # a repeat of the step before was under way
            wait_until(lambda: subscription.take(), waiter, publish)
        assert subscription.token == token
        assert np.array_equal(subscription.position, values[0, ::-1])
        assert np.array_equal(subscription.effort, values[1, ::-1])
        assert subscription.position is position
        assert not subscription.velocity.any()
    assert not subscription.rejected
    assert not subscription.take()
    waiter.close()


@pytest.fixture(scope='module')
def publications(observers):
    """Publish by the fast and by the plain path; the messages that arrive."""
    node, observer = observers
    publishers, arrived = [], []
    for plain in (False, True):
        messages = []
        topic = f'plain_{plain}'.lower()
        observer.create_subscription(JointState, topic, messages.append, 1)
        publishers.append(JointStatePublisher(node, topic, NAMES, plain=plain))
        arrived.append(messages)
    for publisher, messages in zip(publishers, arrived, strict=True):
        while not messages:
            publisher.publish(0, 'under way')
            observer.spin_for(0.05)

    def publish(stamp, token, **arrays):
        for publisher, messages in zip(publishers, arrived, strict=True):
            messages.clear()
            publisher.publish(stamp, token, **arrays)
        # What was under way before has another token.
        observer.spin_until(
            lambda: all(messages and messages[-1].header.frame_id == token for messages in arrived)
        )
        return [messages[-1] for messages in arrived]

    return publish


@given(st.integers(0, 2**60), tokens, st.lists(floats, min_size=4, max_size=4), st.integers(0, 7))
@FUZZED
def test_a_patched_message_is_the_one_that_the_client_library_writes(
    publications, stamp, token, numbers, filled
):
    arrays = {
        field: np.array(numbers)
        for bit, field in enumerate(('position', 'velocity', 'effort'))
        if filled >> bit & 1
    }
    publications(0, 'before it', **{field: np.ones(4) for field in arrays})
    fast, reference = publications(stamp, token, **arrays)
    assert fast.header == reference.header
    assert fast.header.stamp.sec * 10**9 + fast.header.stamp.nanosec == stamp
    assert fast.name == reference.name == list(NAMES)
    for field in ('position', 'velocity', 'effort'):
        assert getattr(fast, field).tobytes() == getattr(reference, field).tobytes()
        assert len(getattr(fast, field)) == (4 if field in arrays else 0)


@pytest.mark.parametrize('plain', [False, True])
def test_services_and_timers_are_served_while_messages_keep_coming(node, ros_graph, plain):
    calls, ticks = [], []

    def answer(request, response):
        calls.append(request)
        response.success = True
        return response

    node.create_service(Trigger, 'slow', answer)
    node.create_timer(0.05, lambda: ticks.append(time.monotonic()))
    publisher = JointStatePublisher(node, 'states', NAMES)
    subscription = JointStateSubscription(node, 'states', NAMES, ('effort',), plain=plain)
    waiter = Waiter(node, [subscription])
    observer = ros_graph.observer()
    answers, taken = [], 0

    def call():
        answers.extend(observer.call(Trigger, 'slow').success for _ in range(3))

    caller = threading.Thread(target=call)
    caller.start()
    watch = Stopwatch()
    while len(answers) < 3 or len(ticks) < 5 or taken <= 50:
        assert not watch.is_over(20.0)
        publisher.publish(taken, 'run', effort=np.ones(4))
        now = time.monotonic()
        waiter.wait(now, now + 0.05)
        taken += subscription.take()
    caller.join()
    assert answers == [True] * 3
    assert len(calls) == 3
    waiter.close()


def linked(node, subscribed='states', **subscription):
    """A publisher, the link to a subscription of the same process, and that."""
    publisher = JointStatePublisher(node, 'states', NAMES)
    end = JointStateSubscription(node, subscribed, NAMES, ('effort',), **subscription)
    return publisher, Link(publisher, end), end


def test_messages_are_handed_over_while_nobody_else_subscribes(node, ros_graph):
    publisher, link, subscription = linked(node)
    heard = []
    publisher.publish(1, 'run', effort=np.ones(4))
    wait_until(subscription.take, waiter := Waiter(node, [subscription]))
    link.update()
    for stamp in (2, 3):
        publisher.publish(stamp, 'run', effort=np.full(4, stamp))
    assert subscription.take(), 'at once: no middleware was asked'
    np.testing.assert_array_equal(subscription.effort, 3.0)
    assert not subscription.take(), 'a queue of one, and nothing in the middleware'

    observer = ros_graph.observer()
    listener = observer.create_subscription(JointState, 'states', heard.append, 10)
    wait_until(lambda: publisher.subscribers == 2, waiter)
    link.update()
    publisher.publish(4, 'run', effort=np.full(4, 4.0))
    wait_until(subscription.take, waiter)
    assert subscription.stamp_ns == 4
    observer.spin_until(lambda: heard)
    assert heard[0].header.stamp.nanosec == 4

    observer.destroy_subscription(listener)
    wait_until(lambda: publisher.subscribers == 1, waiter)
    link.update()
    publisher.publish(5, 'run', effort=np.full(4, 5.0))
    assert subscription.take()
    assert subscription.stamp_ns == 5
    waiter.close()


@pytest.mark.parametrize('other', [{'subscribed': 'others'}, {'plain': True}])
def test_nothing_is_handed_over_to_another_topic_or_the_plain_path(node, other):
    publisher, link, subscription = linked(node, **other)
    if subscription.topic_name != publisher.topic_name:
        node.create_subscription(JointState, 'states', lambda _: None, 1)
    assert publisher.subscribers == 1
    link.update()
    publisher.publish(1, 'run', effort=np.ones(4))
    assert not subscription.take()


def test_what_passes_by_is_sent_in_batches_while_somebody_listens(node, ros_graph):
    states = JointStatePublisher(node, 'states', NAMES)
    commands = JointStateSubscription(node, 'commands', NAMES, ('effort',))
    batches = MessageBatches(node, states, commands)
    waiter = Waiter(node, [commands])
    observer = ros_graph.observer()
    passed, heard = [], []
    observer.create_subscription(JointState, 'states', passed.append, 1000)
    sender = observer.create_publisher(JointState, 'commands', 10)
    batches.update()
    states.publish(1, 'unheard', effort=np.ones(4))
    wait_until(lambda: sender.get_subscription_count() and states.subscribers, waiter)
    assert states.listener is None, 'nobody subscribes to batches'
    topic = f'{node.get_name()}/{BATCHES}'
    observer.create_subscription(UInt8MultiArray, topic, heard.append, QUEUE, raw=True)

    def listens():
        batches.update()
        return states.listener is not None

    wait_until(listens, waiter)
    # A subscription of best effort loses what is sent before it, too, knows of the publisher.
    probe = message(token='probe', effort=np.zeros(4))
    wait_until(commands.take, waiter, lambda: sender.publish(probe))
    command = message(effort=np.arange(4.0))
    begin = time.time_ns()
    for stamp in range(300):
        states.publish(stamp, 'run', position=np.full(4, stamp), velocity=np.zeros(4))
    sender.publish(command)
    wait_until(lambda: commands.take() and commands.token != probe.header.frame_id, waiter)
    commands.hand_over(serialize_message(command))
    batches.update()

    def messages():
        rows = [row for raw in heard for row in zip(*read_batch(raw), strict=True)]
        return [row for row in rows if deserialize_message(row[1], JointState) != probe]

    observer.spin_until(lambda: len(messages()) == 302)
    assert len(heard) > 1, 'one is sent before it is too long for a datagram'
    found = messages()
    assert [row[0] for row in found] == [states.topic_name] * 300 + [commands.topic_name] * 2
    stamps = [deserialize_message(row[1], JointState).header.stamp.nanosec for row in found[:300]]
    assert stamps == list(range(300))
    assert [deserialize_message(row[1], JointState) for row in found[300:]] == [command] * 2
    for _, _, received_ns, sent_ns in found:
        assert begin <= sent_ns <= received_ns <= time.time_ns()
    waiter.close()


@pytest.mark.parametrize('numbers', [[], [1, 0, 0, 0], [0, 0, 0, 0], [9] * 40])
def test_bytes_that_are_no_batch_are_refused(numbers):
    with pytest.raises(InvalidValueError, match='messages of a bridge'):
        read_batch(serialize_message(UInt8MultiArray(data=numbers)))


@given(
    st.sampled_from([(PoseStamped, 7), (TwistStamped, 6), (WrenchStamped, 6)]),
    st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=20),
    st.lists(st.floats(allow_nan=False), min_size=7, max_size=7),
)
def test_a_header_and_numbers_lie_where_the_client_library_reads_them(kind, frame_id, numbers):
    of_kind, count = kind
    layout = StampedLayout(frame_id, count)
    raw = bytearray(layout.template)
    raw[4:12] = struct.pack('<iI', 3, 4)
    raw[layout.offset :] = np.array(numbers[:count]).tobytes()
    read = deserialize_message(bytes(raw), of_kind)
    assert (read.header.stamp.sec, read.header.stamp.nanosec) == (3, 4)
    assert read.header.frame_id == frame_id
    assert flat_numbers(read) == numbers[:count]


def flat_numbers(part):
    """The doubles of a message in their order, but for the header."""
    if isinstance(part, float):
        return [part]
    fields = [name for name in part.get_fields_and_field_types() if name != 'header']
    return [number for name in fields for number in flat_numbers(getattr(part, name))]


@pytest.mark.parametrize('request_', [POSE, Request(mode='home'), Request(mode='')])
def test_an_outcome_is_read_as_it_was_told(request_):
    outcome = Outcome(request_, '1.000000002', Outcome.REFUSED, 'why', {'upper': '1.0'})
    assert Outcome.of(outcome.status('n')) == outcome


def test_the_outcome_of_an_older_recording_names_its_mode_in_words_alone():
    told = Outcome(Request('mode home'), '', Outcome.ACCEPTED, '', {}).status('n')
    assert Outcome.of(told).request == Request(mode='home')
    assert Outcome.of(DiagnosticStatus()).request == Request()


def test_the_wait_ends_on_time_without_messages(node):
    waiter = Waiter(node, [JointStateSubscription(node, 'states', NAMES)])
    waiter.wait(time.monotonic(), 0.0)
    for timeout in (0.005, 0.05):
        watch, start = Stopwatch(), time.monotonic()
        while (now := time.monotonic()) < start + timeout:
            waiter.wait(now, start + timeout)
        assert watch.own < timeout + 0.5
    waiter.close()


def test_a_message_that_was_looked_for_is_taken_once(node):
    publisher = JointStatePublisher(node, 'states', NAMES)
    subscription = JointStateSubscription(node, 'states', NAMES, ('effort',))
    assert not subscription.has_arrived()
    waiter = Waiter(node, [subscription])
    wait_until(lambda: publisher.subscribers, waiter)
    for stamp in range(1, 20):
        publisher.publish(stamp, 'run', effort=np.full(4, stamp))
        wait_until(subscription.has_arrived, waiter)
        assert subscription.has_arrived(), 'it is still there'
        assert subscription.take()
        assert subscription.stamp_ns == stamp
        assert subscription.effort.tolist() == [stamp] * 4
        assert not subscription.has_arrived()
        assert not subscription.take()
    waiter.close()


class Watched(JointStateSubscription):
    """Counts how often it is looked whether a message has arrived."""

    looks = 0

    def has_arrived(self):
        self.looks += 1
        return super().has_arrived()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason='there is one processor alone')
def test_a_node_polls_only_while_messages_come_at_once(node):
    publisher = JointStatePublisher(node, 'states', NAMES)
    subscription = Watched(node, 'states', NAMES, ('effort',))
    waiter = Waiter(node, [subscription])

    # In vain after 1, 3, 7 ... waits without; the waits for slow entities do not count.
    assert 2 <= sum(polls(waiter, subscription, 250)) <= 7
    watch = Stopwatch()
    while not all(polls(waiter, subscription, 5, lambda: publish_ones(publisher))):
        assert not watch.is_over(60.0)
    waiter.close()


def test_a_node_that_may_run_on_one_processor_alone_does_not_poll(node):
    publisher = JointStatePublisher(node, 'states', NAMES)
    subscription = Watched(node, 'states', NAMES, ('effort',))
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        waiter = Waiter(node, [subscription])
        assert not any(polls(waiter, subscription, 50, lambda: publish_ones(publisher)))
    finally:
        os.sched_setaffinity(0, allowed)
    waiter.close()


def polls(waiter, subscription, count, publish=lambda: None) -> list[bool]:
    """Wait so often; in which of the waits the node polled."""
    seen = []
    for _ in range(count):
        before = subscription.looks
        publish()
        now = time.monotonic()
        waiter.wait(now, now + 1e-3)
        subscription.take()
        seen.append(subscription.looks > before)
    return seen


def publish_ones(publisher):
    publisher.publish(1, 'run', effort=np.ones(4))


def test_a_client_library_without_the_private_parts_is_enough(node, monkeypatch):
    monkeypatch.setattr(endpoints, 'rclpy_implementation', SimpleNamespace())
    publisher = JointStatePublisher(node, 'states', NAMES)
    subscription = JointStateSubscription(node, 'states', NAMES, ('effort',))
    assert not subscription.is_native
    waiter = Waiter(node, [subscription])
    wait_until(
        lambda: subscription.take(),
        waiter,
        lambda: publisher.publish(9, 'run', effort=[1.0, 2.0, 3.0, 4.0]),
    )
    assert subscription.effort.tolist() == [1.0, 2.0, 3.0, 4.0]
    waiter.close()
