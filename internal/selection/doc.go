// Package selection decides which sessions a command means, and says of every
// other one why it is passed over. It finds what a typed id stands for, measures
// the sessions of all stores, and judges whether one is due.
package selection
