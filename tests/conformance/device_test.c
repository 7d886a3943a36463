/*  tests/conformance/device_test.c - the conformance suite, for one kind of transport/device/devices.def.
 *
 *  Usage: test_conformance_device KIND.  Exits with 77 if this machine has no device of that kind, and with 1
 *  if the kind has no fixture in tests/conformance/devices.def. */
#include "tests/conformance/device_suite.h"

#define PLAIN(kind) static const device_fixture_t device_fixture_##kind = {.name = #kind ":0"};
#define FIXTURE(kind) extern const device_fixture_t device_fixture_##kind;
#include "tests/conformance/devices.def"
#undef FIXTURE
#undef PLAIN

static const struct {
    const char *kind;
    const device_fixture_t *fixture;
} fixtures[] = {
#define PLAIN(kind) {#kind, &device_fixture_##kind},
#define FIXTURE(kind) {#kind, &device_fixture_##kind},
#include "tests/conformance/devices.def"
#undef FIXTURE
#undef PLAIN
};

int main(int argc, char **argv)
{
    const char *kind = argc == 2 ? argv[1] : "";
    tnd_error_t error;
    for (size_t i = 0; i < sizeof fixtures / sizeof fixtures[0]; i++) {
        if (strcmp(fixtures[i].kind, kind) != 0)
            continue;
        if (tnd_device_check(fixtures[i].fixture->name, fixtures[i].fixture->name, &error) !=
            TND_OK) {
            printf("skipped: %s\n", error.text);
            return 77;
        }
        device_suite(fixtures[i].fixture);
        return 0;
    }
    fprintf(stderr,
            "device '%s' has no fixture: tests/conformance/devices.def needs a line, and "
            "tests/conformance/device/ a file\n",
            kind);
    return 1;
}
