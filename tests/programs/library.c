/* Asks liblockgate in every way that its header has, from eight threads that share a database; says what was not as expected. */
#include <lockgate.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 20 };
static lockgate_database *database;
static int wrong;

#define EXPECT(holds) ((holds) ? (void)0 : (void)(__atomic_add_fetch(&wrong, 1, __ATOMIC_SEQ_CST), printf("line %d: %s\n", __LINE__, #holds)))
#define TEXT(text) text, sizeof(text) - 1

static const char RULES[] =
    "drop http any any -> any any (msg:\"attack\"; flow:established,to_server; http.uri; content:\"/etc/passwd\"; sid:1; rev:3;)\n"
    "alert http any any -> any any (msg:\"page\"; flow:established,to_client; file.data; content:\"ordinary\"; sid:2;)\n"
    "drop smtp any any -> any any (msg:\"mail\"; file.data; content:\"first half\"; sid:3;)\n"
    "alert dns any any -> any any (msg:\"name\"; dns.query; content:\"bad.example\"; sid:4;)\n"
    "drop icmp any any -> any any (msg:\"ping\"; itype:8; content:\"abcd\"; sid:5;)\n"
    "alert http any any -> any any (nonsense; sid:6;)\n";

/* An echo request within IPv4. */
static const unsigned char PING[] = {0x45, 0, 0, 32, 0, 1, 0, 0, 64, 1, 0x66, 0xda, 10, 0, 0, 1, 10, 0, 0, 2,
                                     8, 0, 0x31, 0x36, 0, 1, 0, 1, 'a', 'b', 'c', 'd'};

static void http(lockgate_flow *flow) {
    lockgate_alert alert;
    lockgate_inspection *request = lockgate_request(flow, TEXT("GET /?f=/%65tc/passwd HTTP/1.1"), TEXT("Host: a\r\n"), NULL);
    EXPECT(lockgate_inspection_verdict(request) == LOCKGATE_DROP);
    EXPECT(lockgate_finish(request, NULL) == LOCKGATE_DROP);
    EXPECT(lockgate_push(request, TEXT("more"), NULL) == LOCKGATE_FAILED);
    EXPECT(lockgate_inspection_alert(request, 0, &alert) == 1 && lockgate_inspection_alert(request, 1, &alert) == 0);
    EXPECT(alert.sid == 1 && alert.gid == 1 && alert.rev == 3 && alert.verdict == LOCKGATE_DROP && alert.offset == 4);
    EXPECT(!strcmp(alert.message, "attack") && !strcmp(alert.buffer, "http.uri") && !strcmp(alert.engine, "ids"));
    lockgate_inspection_free(request);
    lockgate_inspection *response = lockgate_response(flow, TEXT("HTTP/1.1 200 OK"), NULL, 0, NULL);
    EXPECT(lockgate_push(response, TEXT("an ordi"), NULL) == LOCKGATE_PASS);
    EXPECT(lockgate_push(response, TEXT("nary page"), NULL) >= LOCKGATE_PASS);
    EXPECT(lockgate_finish(response, NULL) == LOCKGATE_ALERT);
    lockgate_inspection_free(response);
}

static void buffers(void) {
    lockgate_flow *web = lockgate_flow_open(database, LOCKGATE_HTTP, "192.0.2.1", 1025, "2001:db8::1", 80, NULL);
    lockgate_inspection *named = lockgate_file(web, LOCKGATE_TO_SERVER, NULL, NULL);
    EXPECT(lockgate_buffer(named, "http.uri", TEXT("/etc/passwd"), NULL) == LOCKGATE_PASS);
    EXPECT(lockgate_finish(named, NULL) == LOCKGATE_DROP);
    lockgate_flow_close(web);
    lockgate_inspection_free(named);
    lockgate_flow *dns = lockgate_flow_open(database, LOCKGATE_DNS, "192.0.2.1", 1025, "192.0.2.2", 53, NULL);
    lockgate_error *error = NULL;
    named = lockgate_file(dns, LOCKGATE_TO_SERVER, "a name", NULL);
    EXPECT(lockgate_buffer(named, "no.such", NULL, 0, &error) == LOCKGATE_FAILED && strstr(lockgate_error_message(error), "no.such"));
    EXPECT(lockgate_buffer(named, "dns.query", TEXT("www.bad.example"), NULL) == LOCKGATE_ALERT);
    lockgate_error_free(error);
    lockgate_inspection_free(named);
    lockgate_flow_close(dns);
}

static void mail(void) {
    const char *recipients[] = {"bob@example.org"};
    lockgate_flow *flow = lockgate_flow_open(database, LOCKGATE_SMTP, "192.0.2.1", 1025, "192.0.2.2", 25, NULL);
    lockgate_inspection *inspection = lockgate_mail(flow, LOCKGATE_TO_SERVER, "ann@example.org", recipients, 1, NULL);
    EXPECT(lockgate_push(inspection, TEXT("Subject: x\r\nContent-Transfer-Encoding: base64\r\n\r\nZmlyc3QgaGFsZg==\r\n"), NULL) >= 0);
    EXPECT(lockgate_finish(inspection, NULL) == LOCKGATE_DROP);
    lockgate_inspection_free(inspection);
    lockgate_flow_close(flow);
}

static void packets(void) {
    size_t length = 0;
    lockgate_alert alert;
    lockgate_wire *wire = lockgate_wire_open(database, 101, NULL);
    EXPECT(lockgate_wire_packet(wire, 1000000, PING, sizeof PING, NULL) == LOCKGATE_DROP);
    EXPECT(lockgate_wire_alert(wire, 0, &alert) == 1 && alert.sid == 5 && !strcmp(alert.message, "ping"));
    EXPECT(lockgate_wire_events(wire, &length) && length > 0);
    EXPECT(lockgate_wire_packet(wire, 2000000, PING, 7, NULL) == LOCKGATE_PASS);
    EXPECT(lockgate_wire_end(wire, NULL) >= LOCKGATE_PASS && lockgate_wire_end(wire, NULL) == LOCKGATE_FAILED);
    lockgate_wire_free(wire);
}

static void *work(void *unused) {
    lockgate_flow *flow = lockgate_flow_open(database, LOCKGATE_HTTP, "192.0.2.1", 1025, "192.0.2.2", 80, NULL);
    for (int round = 0; round < ROUNDS; round++) http(flow), buffers(), mail(), packets();
    lockgate_flow_close(flow);
    return unused;
}

static void faults(void) {
    lockgate_error *error = NULL;
    EXPECT(!lockgate_builder_build(NULL, &error) && strstr(lockgate_error_message(error), "NULL"));
    lockgate_error_free(error), error = NULL;
    EXPECT(!lockgate_flow_open(database, LOCKGATE_HTTP, "somewhere", 1, "192.0.2.2", 80, &error) && error);
    lockgate_error_free(error), error = NULL;
    EXPECT(!lockgate_flow_open(database, (lockgate_protocol)99, "192.0.2.1", 1, "192.0.2.2", 80, &error) && error);
    lockgate_error_free(error), error = NULL;
    EXPECT(!lockgate_request(NULL, NULL, 0, NULL, 0, &error) && error);
    lockgate_error_free(error), error = NULL;
    EXPECT(!lockgate_wire_open(database, 9999, &error) && error);
    lockgate_error_free(error), error = NULL;
    EXPECT(lockgate_push(NULL, NULL, 5, NULL) == LOCKGATE_FAILED && lockgate_finish(NULL, NULL) == LOCKGATE_FAILED);
    EXPECT(lockgate_inspection_alert(NULL, 0, NULL) == 0 && !lockgate_inspection_incomplete(NULL, 0));
    lockgate_builder *builder = lockgate_builder_new();
    EXPECT(lockgate_builder_add_rules_file(builder, "/nonexistent", &error) == LOCKGATE_FAILED);
    EXPECT(!strcmp(lockgate_error_file(error), "/nonexistent") && lockgate_error_line(error) == 0);
    lockgate_error_free(error), error = NULL;
    EXPECT(lockgate_builder_set(builder, "HOME_NET", "nowhere", NULL) == LOCKGATE_FAILED);
    EXPECT(lockgate_builder_add_rules(builder, "a.rules", TEXT("\nalert http any any -> any any (nonsense;)\n"), NULL) == 0);
    EXPECT(!lockgate_builder_build(builder, &error) && lockgate_error_line(error) == 2 && lockgate_error_column(error) > 0);
    lockgate_error_free(error);
    lockgate_builder_free(lockgate_builder_new());
    lockgate_error_free(NULL), lockgate_builder_free(NULL), lockgate_database_free(NULL), lockgate_flow_close(NULL);
    lockgate_inspection_free(NULL), lockgate_wire_free(NULL);
}

int main(void) {
    lockgate_builder *builder = lockgate_builder_new();
    EXPECT(lockgate_builder_set(builder, "HOME_NET", "[192.0.2.0/24]", NULL) == 0);
    EXPECT(lockgate_builder_limit(builder, "part_held_bytes_max", 1 << 20, NULL) == 0);
    EXPECT(lockgate_builder_limit(builder, "no_such_limit", 1, NULL) == LOCKGATE_FAILED);
    EXPECT(lockgate_builder_add_rules(builder, "test.rules", TEXT(RULES), NULL) == 0);
    EXPECT(lockgate_builder_add_signatures(builder, "test.ndb", TEXT("Test.Never:0:*:00112233445566778899aabbccddeeff\n"), NULL) == 0);
    database = lockgate_builder_build(builder, NULL);
    EXPECT(database && lockgate_database_rules(database) == 6);
    EXPECT(lockgate_error_line(lockgate_database_failure(database, 0)) == 6 && !lockgate_database_failure(database, 1));
    EXPECT(lockgate_abi_version() == LOCKGATE_ABI_VERSION && lockgate_version()[0]);
    faults();
    pthread_t threads[THREADS];
    for (int at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, work, NULL);
    for (int at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
    lockgate_flow *flow = lockgate_flow_open(database, LOCKGATE_HTTP, "192.0.2.1", 1, "192.0.2.2", 80, NULL);
    lockgate_database_free(database); /* a flow keeps what it needs */
    http(flow);
    lockgate_flow_close(flow);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
