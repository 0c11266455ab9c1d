package rpc

import (
	"errors"
	"net/url"
)

var errNoURL = errors.New("baseURL: must be a URL, such as http://127.0.0.1:4310")

// CheckBaseURL says what is wrong with a runtime's address; nil for nothing.
func CheckBaseURL(baseURL string) error {
	parsed, err := url.Parse(baseURL)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
		return errNoURL
	}
	return nil
}
