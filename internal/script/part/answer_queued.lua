-- answer_queued: ends the script with the answer to a waiter. It is one line: it comes often. The
-- holder's value may be anything, so its length stands before it. Straight code.
-- needs: holder, px (at most 4e12, or ".." does not write all its digits), rank, score, t, inserted,
--   listening, poll, refused
return 'queued ' .. px .. ' ' .. rank .. ' ' .. score .. ' ' .. t[1] .. ' ' .. t[2] .. ' ' .. inserted .. ' ' .. listening .. ' '
  .. poll .. ' ' .. #holder .. ' ' .. holder .. refused
