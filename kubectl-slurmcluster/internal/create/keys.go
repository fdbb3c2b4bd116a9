package create

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// readKeys gives flags the values of a text such as "name=gpu,nodes=4,features=a+b".
func readKeys(flags *pflag.FlagSet, text string) error {
	flags.VisitAll(onlyOnce)
	for part := range strings.SplitSeq(text, ",") {
		key, value, hasValue := strings.Cut(part, "=")
		flag := flags.Lookup(key)
		switch {
		case flag == nil:
			return fmt.Errorf("%q is none of its keys, which are %s", key, keys(flags))
		case !hasValue && flag.NoOptDefVal == "":
			return fmt.Errorf("%s has no value; write %s=VALUE", key, key)
		case !hasValue:
			value = flag.NoOptDefVal
		}
		if err := setFlag(flag, value); err != nil {
			return fmt.Errorf("%s %q: %w", key, value, err)
		}
	}
	return nil
}

func setFlag(flag *pflag.Flag, value string) error {
	list, isList := flag.Value.(pflag.SliceValue)
	if !isList {
		return flag.Value.Set(value)
	}
	for part := range strings.SplitSeq(value, "+") {
		if err := list.Append(part); err != nil {
			return err
		}
	}
	return nil
}

func keys(flags *pflag.FlagSet) string {
	var names []string
	flags.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return strings.Join(names, ", ")
}

// within says of each error in which flag, and of what name, it is.
func within(flag, name string, errs []error) error {
	all := make([]error, 0, len(errs))
	for _, err := range errs {
		if err != nil {
			all = append(all, fmt.Errorf("%s %s: %w", flag, name, err))
		}
	}
	return errors.Join(all...)
}
