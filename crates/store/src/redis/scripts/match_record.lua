local match = load_match(ARGV[3])
return {'match', match and match_view(match)}
