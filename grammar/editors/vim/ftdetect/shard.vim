autocmd BufNewFile,BufRead *.shard setfiletype shard
