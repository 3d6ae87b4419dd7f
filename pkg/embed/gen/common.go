package main

import "math"

// Products are rounded by float64() before they are added, so that no
// compiler fuses the two and every platform gets the same table.

// removeCommon takes the mean of the rows from each, and then their k
// strongest principal components. What all words share says nothing about any,
// and makes every text look like every other.
func removeCommon(rows [][]float64, k int) {
	mean := make([]float64, len(rows[0]))
	for _, row := range rows {
		add(mean, row, 1/float64(len(rows)))
	}
	for _, row := range rows {
		add(row, mean, -1)
	}
	for range k {
		direction := strongest(covariance(rows))
		for _, row := range rows {
			add(row, direction, -dot(row, direction))
		}
	}
}

// covariance sums the products of every two components over all centred rows.
func covariance(rows [][]float64) [][]float64 {
	sums := make([][]float64, len(rows[0]))
	for i := range sums {
		sums[i] = make([]float64, len(rows[0]))
		for _, row := range rows {
			add(sums[i], row, row[i])
		}
	}
	return sums
}

// strongest is the unit eigenvector of the largest eigenvalue, by power
// iteration. 2,000 rounds are far past the point where it stands still.
func strongest(matrix [][]float64) []float64 {
	v := make([]float64, len(matrix))
	for i := range v {
		v[i] = 1 / float64(i+1)
	}
	for range 2000 {
		next := make([]float64, len(v))
		for i, row := range matrix {
			next[i] = dot(row, v)
		}
		norm := math.Sqrt(dot(next, next))
		for i := range next {
			v[i] = next[i] / norm
		}
	}
	return v
}

// add adds factor * b to a.
func add(a, b []float64, factor float64) {
	for i, x := range b {
		a[i] += float64(factor * x)
	}
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}
