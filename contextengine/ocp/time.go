package ocp

import (
	"strings"
	"time"
)

// ValidTime reports whether s is in the protocol's timestamp profile:
// YYYY-MM-DDTHH:MM:SS[.digits]Z, a real calendar date, a leap second allowed (F4).
func ValidTime(s string) bool {
	if len(s) < 20 || s[len(s)-1] != 'Z' || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return false
	}
	year, ok1 := digits(s[0:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:10])
	hour, ok4 := digits(s[11:13])
	minute, ok5 := digits(s[14:16])
	second, ok6 := digits(s[17:19])
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6) || hour > 23 || minute > 59 || second > 60 ||
		month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return false
	}
	fraction := s[19 : len(s)-1]
	if fraction == "" {
		return true
	}
	_, ok := digits(fraction[1:])
	return fraction[0] == '.' && len(fraction) > 1 && ok
}

func digits(s string) (n int, ok bool) {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		if n < 1_000_000 { // the value of long fractions is not used
			n = n*10 + int(s[i]-'0')
		}
	}
	return n, true
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// CompareTimes orders two valid times as instants. As text, a fraction would
// sort wrong ("00.5Z" before "00Z").
func CompareTimes(a, b string) int {
	if c := strings.Compare(a[:19], b[:19]); c != 0 {
		return c
	}
	return strings.Compare(fractionOf(a), fractionOf(b))
}

func fractionOf(s string) string {
	return strings.TrimRight(strings.TrimPrefix(s[19:len(s)-1], "."), "0")
}

// ValidAt reports whether f's window of world time holds at. Bounds that are
// absent or malformed are open.
func ValidAt(f Frame, at string) bool {
	if !ValidTime(at) {
		return true
	}
	if ValidTime(f.ValidFrom) && CompareTimes(f.ValidFrom, at) > 0 {
		return false
	}
	return !ValidTime(f.ValidTo) || CompareTimes(at, f.ValidTo) < 0
}

// FormatTime writes t in the profile, in whole seconds or with its fraction.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999999Z") }
