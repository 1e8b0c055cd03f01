package quorum

const quorumReplaceHelp = `Change the members of a quorum. --from names all current members, also those that are
down. The arguments are all members of the new quorum. Prints the new quorum-id.

STEPS
The epoch of the new id is one higher. First the old members leave the old quorum.
Then the new members get the new id. From the first step on, programs with the old id
get no lock, and lose what they hold at its deadline. A minute later programs with the
new id can lock. So a mix of old and new lists never gives one lock to two holders.
Next give your programs the new id and URLs.

If the command fails half-way, no program can lock. Repeat it with the same URLs.

A MEMBER THAT IS GONE
To remove an old member that does not answer, name it with --gone. With that YOU PROMISE
that it is down and never comes back with its data. If it does come back, there are two
quorums.

To add a node again that has lost its data, give the same members on both sides. The id
does not change. Only that node does not vote for a minute.

JSON OUTPUT
-o json prints an object: quorum (the id), members (their addresses), votes_in_ms (the
time until all of them vote).`

const quorumReplaceExample = `  # d replaces c
  holdfast quorum replace --from redis://a:6379 --from redis://b:6379 \
      --from redis://c:6379 redis://a:6379 redis://b:6379 redis://d:6379

  # if c is lost for ever: add --gone redis://c:6379`
