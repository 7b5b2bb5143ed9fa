" Two blanks a level, `#` comments, and in Neovim the language server.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1
setlocal expandtab shiftwidth=2 softtabstop=2 textwidth=100 commentstring=#\ %s comments=:##,:#
let b:undo_ftplugin = 'setlocal expandtab< shiftwidth< softtabstop< textwidth< commentstring< comments<'
if has('nvim-0.7') && executable(get(g:, 'shard_program', 'shard'))
  lua <<LUA
  local above = vim.fn.expand('%:p:h') .. ';'
  local git = vim.fn.finddir('.git', above)
  if git == '' then git = vim.fn.findfile('.git', above) end  -- of a worktree
  local root = git ~= '' and vim.fn.fnamemodify(git, ':p'):gsub('/%.git/?$', '') or vim.fn.getcwd()
  local server = { name = 'shard', cmd = { vim.g.shard_program or 'shard', 'lsp' }, root_dir = root }
  if vim.lsp.start then
    vim.lsp.start(server)
  else  -- 0.7: one server for all texts
    shard_server = shard_server or vim.lsp.start_client(server)
    vim.lsp.buf_attach_client(0, shard_server)
  end
LUA
endif
