/* The yardstick: the weighted mean of K files of float32, by pread in chunks and a plain f64 loop.
 * mean OUTPUT COLUMNS (FILE OFFSET WEIGHT)... reads COLUMNS elements from byte OFFSET of every file.
 * Prints its own CPU seconds. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CHUNK = 32768, MAX_FILES = 256 };

static double sums[CHUNK];
static float row[CHUNK];

static double seconds(struct timeval t) { return t.tv_sec + t.tv_usec / 1e6; }

int main(int argc, char **argv) {
  if (argc < 6 || (argc - 3) % 3 != 0 || (argc - 3) / 3 > MAX_FILES) return 2;
  const long columns = atol(argv[2]);
  const int files = (argc - 3) / 3;
  int in[MAX_FILES];
  long offsets[MAX_FILES];
  double weights[MAX_FILES], total = 0;
  for (int k = 0; k < files; k++) {
    in[k] = open(argv[3 + 3 * k], O_RDONLY);
    offsets[k] = atol(argv[4 + 3 * k]);
    weights[k] = atof(argv[5 + 3 * k]);
    total += weights[k];
    if (in[k] < 0) { perror(argv[3 + 3 * k]); return 1; }
  }
  const int out = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (out < 0) { perror(argv[1]); return 1; }
  for (long start = 0; start < columns; start += CHUNK) {
    const long n = columns - start < CHUNK ? columns - start : CHUNK;
    for (long i = 0; i < n; i++) sums[i] = 0;
    for (int k = 0; k < files; k++) {
      if (pread(in[k], row, n * 4, offsets[k] + start * 4) != n * 4) return 1;
      const double w = weights[k];
      for (long i = 0; i < n; i++) sums[i] += w * row[i];
    }
    for (long i = 0; i < n; i++) row[i] = (float)(sums[i] / total);
    if (pwrite(out, row, n * 4, start * 4) != n * 4) return 1;
  }
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("%.4f\n", seconds(used.ru_utime) + seconds(used.ru_stime));
  return 0;
}
