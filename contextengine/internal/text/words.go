package text

import "strings"

// stop words carry no meaning of their own.
var stop = set(`a about above after again all also am an and any are as at be because been before being below between both but by
can cannot could did do does doing done down during each either else etc even ever every few for from further get gets getting got had has have having
he her here hers him his how however i if in into is it its itself just let lets like ll made make makes making many may maybe me might more most much must my
no nor not now of off ok okay on once one only onto or other our ours out over own per please put rather re really same she should since so some
something still such sure than thank thanks that the their theirs them then there these they thing things this those through to too two under until up upon us
ve very via want wants was way we well were what whats when where whether which while who whose why will with within without would yes yet you your yours
im ive id dont doesnt didnt isnt arent cant wont shouldnt there's theres
able across actually almost already although always among another anyone anything around away back become becomes came come comes despite
going goes gone good great instead keep kind know lot mean means never next often otherwise perhaps quite said say says see seem seems
sometimes soon take takes tell think though thus together took try trying turn unless use used uses using usually whole`)

// weak words are what any request to change a program says: they help to order
// frames, and are no evidence for one by themselves.
var weak = stemmed(`add adds added adding fix fixes fixed fixing bug bugs issue issues problem problems change changes changed changing update updates updated updating write writes
writing wrote create creates created creating implement implements implementing implementation remove removes removed removing delete rename move need needs needed new old
code file files function functions method class module line lines work works working run runs running ran call calls called look looks find finds show shows explain help
check checks error errors fail fails failing failed failure test tests testing project repo repository program app application
name value values type types set sets thing part case cases time times right wrong better best first last current currently feature
support allow start stop begin end ensure read reads user users data number numbers example give gives handle handles handling build make
folder directory list question answer today day days simple small big different review refactor clean cleanup rewrite improve break breaks broken breaking
happen happens happening expect expected return returns returned require required requires default defaults possible place
every reason version step comment variable string loop typo unit random sort generate convert parameter object constant import statement expression
script result output input message check log print field item row column element array map table text word letter character point argument`)

// abbreviations that people mix freely with the full word.
var abbreviations = map[string]string{
	"auth": "authentication", "authn": "authentication", "authz": "authorization", "db": "database", "dbs": "database",
	"config": "configuration", "configs": "configuration", "cfg": "configuration", "configure": "configuration", "configured": "configuration",
	"env": "environment", "envs": "environment", "repo": "repository", "repos": "repository", "dep": "dependency", "deps": "dependency",
	"doc": "documentation", "docs": "documentation", "perf": "performance", "k8s": "kubernetes", "i18n": "internationalization",
	"l10n": "localization", "a11y": "accessibility", "pg": "postgres", "postgresql": "postgres", "js": "javascript", "ts": "typescript",
	"py": "python", "rs": "rust", "dir": "directory", "dirs": "directory", "param": "parameter", "params": "parameter",
	"arg": "argument", "args": "argument", "msg": "message", "msgs": "message", "req": "request", "res": "response", "resp": "response",
	"perms": "permission", "perm": "permission", "admin": "administrator", "prod": "production", "dev": "development",
	"info": "information", "async": "asynchronous", "sync": "synchronous", "impl": "implementation", "spec": "specification",
	"specs": "specification", "var": "variable", "vars": "variable", "func": "function", "fn": "function", "stats": "statistics",
	"pkg": "package", "pkgs": "package", "lib": "library", "libs": "library", "tz": "timezone", "ui": "interface",
	"tx": "transaction", "txn": "transaction", "ci": "ci", "pr": "pr",
}

// Weak reports whether a term is one that any request may contain.
func Weak(term string) bool { return weak[term] || len(term) < 3 && hasDigit(term) }

func set(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

func stemmed(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		if full, ok := abbreviations[w]; ok {
			w = full
		}
		m[stem(w)] = true
	}
	return m
}
