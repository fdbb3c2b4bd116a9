/* How long MPI_Allreduce takes for messages of 8 bytes to 1 MiB: a line of bytes and microseconds for each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEAST = 8, MOST = 1 << 20, ROUNDS = 5 };
/* Of each size: these seconds of it for each round, by a count that a first round tells. */
static const double ROUND_SECONDS = 0.05;

static double seconds(double *from, double *to, int count, int times)
{
	MPI_Barrier(MPI_COMM_WORLD);
	double start = MPI_Wtime();
	for (int i = 0; i < times; i++)
		MPI_Allreduce(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	double took = MPI_Wtime() - start, most;
	MPI_Allreduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return most;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	double *from = calloc(MOST, 1), *to = calloc(MOST, 1);
	if (!from || !to)
		MPI_Abort(MPI_COMM_WORLD, 1);
	if (rank == 0)
		printf("ranks %d\n", ranks);
	for (int bytes = LEAST; bytes <= MOST; bytes *= 2) {
		int count = bytes / (int)sizeof(double);
		int warm = 20;
		int times = (int)(ROUND_SECONDS / (seconds(from, to, count, warm) / warm)) + 1;
		double took[ROUNDS];
		for (int round = 0; round < ROUNDS; round++)
			took[round] = seconds(from, to, count, times) / times;
		qsort(took, ROUNDS, sizeof(double), ascending);
		if (rank == 0)
			printf("%d %.3f\n", bytes, took[ROUNDS / 2] * 1e6);
	}
	free(from);
	free(to);
	MPI_Finalize();
	return 0;
}
