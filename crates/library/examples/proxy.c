/* An HTTP proxy that asks liblockgate: cc proxy.c $(pkg-config --cflags --libs lockgate) -pthread
 * ./a.out RULES PORT [CONNECTIONS] serves so many connections with eight threads, and ends. */
#include <lockgate.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPACE = 16 << 20, THREADS = 8 }; /* room for a request's head, and for a response */
static lockgate_database *database;
static int listener;
static atomic_long left = 1L << 40;

static size_t receive(int from, char *all, const char *until) {
    size_t have = 0;
    for (ssize_t got = 1; got > 0 && !(until && strstr(all, until)); have += got > 0 ? got : 0)
        got = read(from, all + have, SPACE - 1 - have);
    return have;
}

/* Asks about a head and the content behind it. Of NULL nothing can be asked: that fails, and goes no further. */
static int stops(lockgate_flow *flow, __typeof__(lockgate_request) *ask, char *all, size_t length, FILE *client) {
    char *end = strstr(all, "\r\n\r\n"), *line = strstr(all, "\r\n"), *content = end ? end + 4 : all;
    lockgate_inspection *asked = end ? ask(flow, all, line - all, line + 2, end - line, NULL) : NULL;
    lockgate_verdict verdict = lockgate_push(asked, content, all + length - content, NULL);
    if (verdict != LOCKGATE_FAILED) verdict = lockgate_finish(asked, NULL);
    lockgate_alert found;
    for (size_t at = 0; lockgate_inspection_alert(asked, at, &found); at++)
        printf("sid %u: %s, in %s at %lld\n", found.sid, found.message, found.buffer, (long long)found.offset);
    lockgate_inspection_free(asked);
    if (verdict == LOCKGATE_PASS || verdict == LOCKGATE_ALERT) return 0;
    return fputs("HTTP/1.0 403 Forbidden\r\n\r\nstopped by a rule\n", client), 1;
}

static int dial(const char *host) {
    char name[256], port[6] = "80";
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM};
    if (sscanf(host, "%255[^:/ ]:%5[0-9]", name, port) < 1 || getaddrinfo(name, port, &hints, &found)) return -1;
    int to = socket(found->ai_family, SOCK_STREAM, 0), failed = connect(to, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return failed ? close(to), -1 : to;
}

/* "GET http://HOST/PATH HTTP/1.1" goes on as "GET /PATH HTTP/1.0", so that the answer ends with its connection. */
static void serve(FILE *client) {
    char *asked = calloc(1, SPACE), *answer = calloc(1, SPACE), *path = NULL;
    lockgate_flow *flow = lockgate_flow_open(database, LOCKGATE_HTTP, "127.0.0.1", 1024, "127.0.0.1", 80, NULL);
    size_t length = receive(fileno(client), asked, "\r\n\r\n");
    int is_get = !strncmp(asked, "GET http://", 11) && (path = strchr(asked + 11, '/'));
    int server = is_get && !stops(flow, lockgate_request, asked, length, client) ? dial(asked + 11) : -1;
    if (server >= 0) {
        dprintf(server, "GET %.*s HTTP/1.0%s", (int)strcspn(path, " \r"), path, strstr(asked, "\r\n"));
        length = receive(server, answer, NULL);
        if (!stops(flow, lockgate_response, answer, length, client)) fwrite(answer, 1, length, client);
        close(server);
    }
    lockgate_flow_close(flow), free(asked), free(answer), fclose(client);
}

static void *work(void *unused) {
    while (atomic_fetch_sub(&left, 1) > 0) serve(fdopen(accept(listener, NULL, NULL), "r+"));
    return unused;
}

int main(int count, char **words) {
    lockgate_error *error = NULL;
    lockgate_builder *builder = lockgate_builder_new();
    if (count > 2 && !lockgate_builder_add_rules_file(builder, words[1], &error))
        database = lockgate_builder_build(builder, &error);
    if (!database) return fprintf(stderr, "%u: %s\n", lockgate_error_line(error), lockgate_error_message(error)), 1;
    struct sockaddr_in place = {AF_INET, htons(atoi(words[2])), {htonl(INADDR_LOOPBACK)}, {0}};
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&place, sizeof place) || listen(listener, 64)) return perror("proxy"), 1;
    if (count > 3) left = atol(words[3]);
    pthread_t threads[THREADS];
    for (int at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, work, NULL);
    for (int at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
    lockgate_database_free(database);
    return 0;
}
