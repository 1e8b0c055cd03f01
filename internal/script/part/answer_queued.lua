-- queued: the answer to who stands in line now. One line: it comes often. The value
-- of L may be anything, so its length stands before it. Straight code, and the end.
-- needs: holder, px (at most 4e12, or ".." does not write all its digits), rank, score,
--   t, inserted, heard, look, refused
return 'queued ' .. px .. ' ' .. rank .. ' ' .. score .. ' ' .. t[1] .. ' ' .. t[2] .. ' ' .. inserted .. ' ' .. heard .. ' '
  .. look .. ' ' .. #holder .. ' ' .. holder .. refused
