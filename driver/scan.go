package driver

// ScanPage is a script that reads a page of SCAN. It takes the cursor, the pattern and the count, and
// returns the next cursor and the keys. It leaves out keys above 1,023 bytes: holdfast has none, and a
// key of 490 MB would fill the memory of the process.
var ScanPage = NewScript("scan", `local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local answer = {page[1]}
for _, key in ipairs(page[2]) do
  if #key <= 1023 then answer[#answer + 1] = key end
end
return answer`)
