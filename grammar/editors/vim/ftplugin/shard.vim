" Two blanks a level, `#` comments, and in Neovim the language server.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1
setlocal expandtab shiftwidth=2 softtabstop=2 textwidth=100 commentstring=#\ %s comments=:##,:#
let b:undo_ftplugin = 'setlocal expandtab< shiftwidth< softtabstop< textwidth< commentstring< comments<'
if has('nvim-0.8') && executable(get(g:, 'shard_program', 'shard'))
  lua <<LUA
  local root = vim.fs.dirname(vim.fs.find({ '.git' }, { upward = true, path = vim.fn.expand('%:p:h') })[1]) or vim.fn.getcwd()
  vim.lsp.start({ name = 'shard', cmd = { vim.g.shard_program or 'shard', 'lsp' }, root_dir = root })
LUA
endif
