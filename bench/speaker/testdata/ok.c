#include <stdio.h>
#include <stdlib.h>
int main(int n, char **v) { int *p = malloc(4); p[3] = n; printf("%d\n", p[3]); return 0; }
