// The table of methods, and what the server says that it can do. To add one: its function, declared in
// features.h, and its row here.
#include "interpreter/lsp/server.h"

namespace shard::lsp {
namespace {

const Method kMethods[] = {
    {"initialize", nullptr, &Server::initialize},
    {"initialized", nullptr, &Server::ignored},
    {"shutdown", nullptr, &Server::shutdown},
    {"$/setTrace", nullptr, &Server::ignored},
    {"workspace/didChangeConfiguration", nullptr, &Server::ignored},
    {"workspace/didChangeWatchedFiles", nullptr, &Server::ignored},
    {"textDocument/didOpen", nullptr, &Server::opened},
    {"textDocument/didChange", nullptr, &Server::changed},
    {"textDocument/didSave", nullptr, &Server::ignored},
    {"textDocument/didClose", nullptr, &Server::closed},
    {"textDocument/codeAction", code_actions},
    {"textDocument/formatting", formatting},
    {"textDocument/hover", hover},
    {"textDocument/completion", completion},
    {"completionItem/resolve", completion_resolve},
    {"textDocument/signatureHelp", signature_help},
    {"textDocument/definition", definition},
    {"textDocument/references", references},
    {"textDocument/documentHighlight", highlights},
    {"textDocument/prepareRename", prepare_rename},
    {"textDocument/rename", rename},
    {"textDocument/documentSymbol", document_symbols},
    {"textDocument/foldingRange", folding_ranges},
    {"textDocument/semanticTokens/full", semantic_tokens},
    {"textDocument/inlayHint", inlay_hints},
    {"textDocument/codeLens", code_lenses},
};

}  // namespace

const Method* find_method(std::string_view name) {
  for (const Method& m : kMethods)
    if (m.name == name) return &m;
  return nullptr;
}

std::string capabilities(Units units) {
  const char* encoding = units == Units::Utf8 ? "utf-8" : units == Units::Utf32 ? "utf-32" : "utf-16";
  const std::string yes = "true";
  return object({
      {"positionEncoding", json_string(encoding)},
      {"textDocumentSync", object({{"openClose", yes}, {"change", number(2)}, {"save", yes}})},
      {"codeActionProvider", object({{"codeActionKinds", strings({"quickfix", "source.fixAll.shard"})}})},
      {"documentFormattingProvider", yes},
      {"hoverProvider", yes},
      {"completionProvider", object({{"triggerCharacters", strings({".", "@"})}, {"resolveProvider", yes}})},
      {"signatureHelpProvider", object({{"triggerCharacters", strings({"(", ","})}})},
      {"definitionProvider", yes},
      {"referencesProvider", yes},
      {"documentHighlightProvider", yes},
      {"renameProvider", object({{"prepareProvider", yes}})},
      {"documentSymbolProvider", yes},
      {"foldingRangeProvider", yes},
      {"semanticTokensProvider", object({{"legend", token_legend()}, {"full", yes}})},
      {"inlayHintProvider", yes},
      {"codeLensProvider", object({{"resolveProvider", "false"}})},
  });
}

}  // namespace shard::lsp
