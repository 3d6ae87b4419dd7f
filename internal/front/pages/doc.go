// Package pages writes the HTML pages of an archived session to where they are
// kept, and takes them away again. It also has the screen of sessctl status.
package pages
