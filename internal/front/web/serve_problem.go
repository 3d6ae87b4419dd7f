package web

import (
	"net/http"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
)

// StatusOf is the HTTP status of an error of a command.
func StatusOf(code string, exit int) int {
	switch {
	case strings.HasPrefix(code, "unknown_"), code == "no_memory", code == "no_store":
		return http.StatusNotFound
	case code == "invalid_session":
		return http.StatusBadRequest
	case code == "ambiguous":
		return http.StatusConflict
	case code == "too_much":
		return http.StatusRequestEntityTooLarge
	case code == "no_space":
		return http.StatusInsufficientStorage
	case code == "interrupted":
		return http.StatusServiceUnavailable
	case exit == failure.ExitUsage:
		return http.StatusUnprocessableEntity
	case exit == failure.ExitBusy:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
