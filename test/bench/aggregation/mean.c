/* The yardstick: the weighted mean of K files of float32, by pread in chunks and a plain f64 loop.
 * mean OUTPUT COLUMNS OFFSET (FILE WEIGHT)... reads COLUMNS elements from byte OFFSET of every file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHUNK = 32768, MAX_FILES = 256 };

static double sums[CHUNK];
static float row[CHUNK];

int main(int argc, char **argv) {
  if (argc < 6 || (argc - 4) % 2 != 0 || (argc - 4) / 2 > MAX_FILES) return 2;
  const long columns = atol(argv[2]), offset = atol(argv[3]);
  const int files = (argc - 4) / 2;
  int in[MAX_FILES];
  double weights[MAX_FILES], total = 0;
  for (int k = 0; k < files; k++) {
    in[k] = open(argv[4 + 2 * k], O_RDONLY);
    weights[k] = atof(argv[5 + 2 * k]);
    total += weights[k];
    if (in[k] < 0) { perror(argv[4 + 2 * k]); return 1; }
  }
  const int out = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (out < 0) { perror(argv[1]); return 1; }
  for (long start = 0; start < columns; start += CHUNK) {
    const long n = columns - start < CHUNK ? columns - start : CHUNK;
    for (long i = 0; i < n; i++) sums[i] = 0;
    for (int k = 0; k < files; k++) {
      if (pread(in[k], row, n * 4, offset + start * 4) != n * 4) return 1;
      const double w = weights[k];
      for (long i = 0; i < n; i++) sums[i] += w * row[i];
    }
    for (long i = 0; i < n; i++) row[i] = (float)(sums[i] / total);
    if (pwrite(out, row, n * 4, start * 4) != n * 4) return 1;
  }
  return 0;
}
