/* lockgate.h: Lockgate's engines as a library. The manual is liblockgate(3).
 *
 * Rules are gathered in a builder and built into a database. For each connection a flow is opened, for each message on it an
 * inspection; what has been read of the message is handed over as it comes, and the verdict asked for. Packets are handed to a
 * wire instead.
 *
 * Threads: a database may be used by any number of threads at a time. A builder, a flow, an inspection, a wire and an error
 * are used by one thread at a time, by any. Inspections of one flow may be used by different threads at a time.
 *
 * Pointers: what a function returns without `const` belongs to the caller, who frees it with the function named for it, once.
 * What it returns with `const` belongs to what it was asked of, and is valid until that changes or is freed, as said there.
 * What is handed over is copied or read before the function returns; nothing of it is kept. Bytes are a pointer and a length
 * and may be anything; the pointer may be NULL where the length is 0. Text ends with NUL and is UTF-8. All `free` functions
 * take NULL.
 *
 * Errors: a function that can fail takes `lockgate_error **error` as its last argument, which may be NULL. Where it fails it
 * returns NULL or LOCKGATE_FAILED and puts there a new error, which the caller frees; else it leaves it alone. A NULL where
 * something is needed is such an error. No function ends the process.
 */
#ifndef LOCKGATE_H
#define LOCKGATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts up with each change that programs built before notice; the library's file name has it. */
#define LOCKGATE_ABI_VERSION 0

typedef struct lockgate_error lockgate_error;
typedef struct lockgate_builder lockgate_builder;
typedef struct lockgate_database lockgate_database;
typedef struct lockgate_flow lockgate_flow;
typedef struct lockgate_inspection lockgate_inspection;
typedef struct lockgate_wire lockgate_wire;

/* What is to become of a message or packet. A verdict only hardens. */
typedef enum lockgate_verdict {
    LOCKGATE_FAILED = -1, /* there is an error */
    LOCKGATE_PASS = 0,    /* nothing was found */
    LOCKGATE_ALERT = 1,   /* something was found, or not all could be inspected: it may go on */
    LOCKGATE_DROP = 2     /* it is not to go on */
} lockgate_verdict;

/* What is spoken on a flow. */
typedef enum lockgate_protocol {
    LOCKGATE_UNKNOWN = 0,
    LOCKGATE_HTTP = 1,
    LOCKGATE_SMTP = 2,
    LOCKGATE_POP3 = 3,
    LOCKGATE_FTP = 4,
    LOCKGATE_FTP_DATA = 5,
    LOCKGATE_DNS = 6,
    LOCKGATE_TLS = 7,
    LOCKGATE_FILE = 8
} lockgate_protocol;

/* Which way a message goes. */
typedef enum lockgate_direction { LOCKGATE_TO_SERVER = 0, LOCKGATE_TO_CLIENT = 1 } lockgate_direction;

/* Something that was found. The text belongs to the inspection or wire that it was asked of. */
typedef struct lockgate_alert {
    uint32_t gid;               /* who numbers the rule; 0 where no rule has found it */
    uint32_t sid;               /* the rule's number; 0 likewise */
    uint32_t rev;               /* the rule's revision; 0 likewise */
    uint32_t severity;          /* from 1, which weighs most */
    lockgate_verdict verdict;   /* what the rule asks for: LOCKGATE_ALERT or LOCKGATE_DROP */
    const char *message;        /* `msg`, or the name of a signature */
    const char *category;       /* what the rule's class is called */
    const char *engine;         /* "ids", "antivirus", "content" */
    const char *rule;           /* where the rule stands: file and line */
    const char *buffer;         /* where it was found: "http.uri", "file.data"; "" where that is not known */
    const char *part;           /* in which part: "." for the message itself, "1.2/a.zip/b.exe" */
    int64_t offset;             /* where in the buffer, in bytes from 0; -1 where that is not known */
} lockgate_alert;

/* The version, as "0.1.0", and the number above of the library that runs. */
const char *lockgate_version(void);
unsigned lockgate_abi_version(void);

/* --- Errors -------------------------------------------------------------------------------------------------------------- */

/* What went wrong; valid until the error is freed. */
const char *lockgate_error_message(const lockgate_error *error);
/* The file that is at fault, as it was named; NULL where none is. */
const char *lockgate_error_file(const lockgate_error *error);
/* The line there, from 1, and the byte of the rule, from 1; 0 where that is not known. */
uint32_t lockgate_error_line(const lockgate_error *error);
uint32_t lockgate_error_column(const lockgate_error *error);
void lockgate_error_free(lockgate_error *error);

/* --- Rules --------------------------------------------------------------------------------------------------------------- */

/* An empty builder. */
lockgate_builder *lockgate_builder_new(void);
/* Says what a variable of the rules stands for, such as "HOME_NET" and "[10.0.0.0/8,!10.1.0.0/16]": before it is built. Names
 * that end in _PORT or _PORTS are of ports. Returns 0, or LOCKGATE_FAILED. */
int lockgate_builder_set(lockgate_builder *builder, const char *name, const char *list, lockgate_error **error);
/* Adds a file of rules by its content; `name` is what errors and alerts call it. "classification.config" and
 * "threshold.config" are read as what they are. Returns 0, or LOCKGATE_FAILED. */
int lockgate_builder_add_rules(lockgate_builder *builder, const char *name, const void *bytes, size_t length,
                               lockgate_error **error);
int lockgate_builder_add_rules_file(lockgate_builder *builder, const char *path, lockgate_error **error);
/* The same for a file of virus signatures; its name says of which kind (.ndb, .hdb, .cvd, ...). */
int lockgate_builder_add_signatures(lockgate_builder *builder, const char *name, const void *bytes, size_t length,
                                    lockgate_error **error);
int lockgate_builder_add_signatures_file(lockgate_builder *builder, const char *path, lockgate_error **error);
/* A limit, by its name in the gateway's configuration: of one message "depth_max", "parts_max", "expansion_max",
 * "expansion_free_bytes", "decoded_bytes_max", "part_held_bytes_max", "held_bytes_max"; of all messages of the database
 * together "content_pool_bytes". Returns 0, or LOCKGATE_FAILED. */
int lockgate_builder_limit(lockgate_builder *builder, const char *name, uint64_t value, lockgate_error **error);
/* Builds the database, and frees the builder in any case. It fails where of a file with rules not one can be used; what else
 * is left out, the database lists. */
lockgate_database *lockgate_builder_build(lockgate_builder *builder, lockgate_error **error);
void lockgate_builder_free(lockgate_builder *builder);

/* How many rules and signatures are in use; 0 for NULL. */
uint64_t lockgate_database_rules(const lockgate_database *database);
/* What is not in use, from 0; NULL behind the last. It is valid until the database is freed, and never freed itself. */
const lockgate_error *lockgate_database_failure(const lockgate_database *database, size_t index);
/* Flows and wires keep what they need: a database may be freed before them. */
void lockgate_database_free(lockgate_database *database);

/* --- Flows --------------------------------------------------------------------------------------------------------------- */

/* A connection; the addresses are text, "192.0.2.1" or "2001:db8::1". */
lockgate_flow *lockgate_flow_open(const lockgate_database *database, lockgate_protocol protocol, const char *client,
                                  uint16_t client_port, const char *server, uint16_t server_port,
                                  lockgate_error **error);
/* Inspections of the flow may outlive it. */
void lockgate_flow_close(lockgate_flow *flow);

/* --- Inspections --------------------------------------------------------------------------------------------------------- */

/* A request or response of HTTP: its first line without the line's end, and the lines of its header, each with CRLF, without
 * the empty line. They are inspected at once. Content follows by lockgate_push, without chunked coding; content codings and
 * forms are undone as the header says. */
lockgate_inspection *lockgate_request(lockgate_flow *flow, const void *line, size_t line_length, const void *header,
                                      size_t header_length, lockgate_error **error);
lockgate_inspection *lockgate_response(lockgate_flow *flow, const void *line, size_t line_length, const void *header,
                                       size_t header_length, lockgate_error **error);
/* A mail: its envelope's sender and recipients without angle brackets, `sender` NULL where there is no envelope. Its header
 * and body follow by lockgate_push, dot stuffing removed. */
lockgate_inspection *lockgate_mail(lockgate_flow *flow, lockgate_direction direction, const char *sender,
                                   const char *const *recipients, size_t recipient_count, lockgate_error **error);
/* A file, `name` NULL where it has none; or nothing but buffers. */
lockgate_inspection *lockgate_file(lockgate_flow *flow, lockgate_direction direction, const char *name,
                                   lockgate_error **error);
/* A buffer by the name that rules have for it, whole: "http.uri", "http.user_agent", "dns.query", "tls.sni". Buffers of
 * HTTP's head are gathered, and inspected as one head before any content, or at the end. */
lockgate_verdict lockgate_buffer(lockgate_inspection *inspection, const char *name, const void *bytes, size_t length,
                                 lockgate_error **error);
/* The next bytes of the content. */
lockgate_verdict lockgate_push(lockgate_inspection *inspection, const void *bytes, size_t length, lockgate_error **error);
/* The content has ended: what depends on its end is decided. Nothing may be pushed behind it. */
lockgate_verdict lockgate_finish(lockgate_inspection *inspection, lockgate_error **error);
/* The verdict so far. */
lockgate_verdict lockgate_inspection_verdict(const lockgate_inspection *inspection);
/* What was found so far, from 0; returns 1, or 0 behind the last. Text in `alert` is valid until the inspection is freed. */
int lockgate_inspection_alert(lockgate_inspection *inspection, size_t index, lockgate_alert *alert);
/* What could not be inspected, and why ("a.zip: encrypted"), from 0; NULL behind the last. Valid until it is freed. */
const char *lockgate_inspection_incomplete(lockgate_inspection *inspection, size_t index);
void lockgate_inspection_free(lockgate_inspection *inspection);

/* --- Packets ------------------------------------------------------------------------------------------------------------- */

/* Packets of many flows; `link_type` as in capture files: 1 for Ethernet, 101 for IP. */
lockgate_wire *lockgate_wire_open(const lockgate_database *database, uint32_t link_type, lockgate_error **error);
/* The next packet, captured so many microseconds after 1970. DROP says that it is not to go on: a rule that asks for that has
 * matched in it, or has matched in what its flow has brought so far. */
lockgate_verdict lockgate_wire_packet(lockgate_wire *wire, uint64_t time, const void *bytes, size_t length,
                                      lockgate_error **error);
/* What the last packet has led to, from 0; returns 1, or 0 behind the last. Valid until the next packet. */
int lockgate_wire_alert(lockgate_wire *wire, size_t index, lockgate_alert *alert);
/* The events of the last packet as lines of JSON (Suricata's EVE), and their length. Valid until the next packet. */
const char *lockgate_wire_events(lockgate_wire *wire, size_t *length);
/* Nothing more comes: flows end, and their last events are there. */
lockgate_verdict lockgate_wire_end(lockgate_wire *wire, lockgate_error **error);
void lockgate_wire_free(lockgate_wire *wire);

#ifdef __cplusplus
}
#endif

#endif
