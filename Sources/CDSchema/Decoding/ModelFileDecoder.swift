import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The contents of `model.yaml`.
struct DecodedModelFile {
  var id: UUID?
  var current: Int?
  var imports: [String] = []
  var access: String?
  var listsKeyPaths = false
  var isObservable = false
  var hasSnapshots = false
  var nestsSnapshots = false
}

extension DecodingContext {
  func decodeModelFile(_ root: MarkedNode?) -> DecodedModelFile {
    var result = DecodedModelFile()
    let start = MarkedNode(content: .scalar("", .plain), range: 0..<0)
    declare(.model, at: start)
    guard
      let reader = MappingReader(
        root ?? start, of: .model, at: start, noun: "model.yaml",
        keys: .model,
        hints: [
          "name": "the model's name is the folder's",
          "entities": "write entities in the files of the versions, such as 1.yaml",
        ], context: self)
    else { return result }
    if let node = reader.node("id") {
      if let text = reader.text("id") {
        result.id = UUID(uuidString: text)
        if result.id == nil {
          error(node, "'id' is a UUID such as 5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11, not '\(text)'")
        }
      }
    } else {
      error(start, "the model has no 'id': a UUID, made once and never changed ('cdgen init' makes one)")
    }
    result.current = reader.int("current", atLeast: 1)
    if let text = reader.text("access"), let node = reader.node("access") {
      if LoadedModel.accessLevels.contains(text) {
        result.access = text
      } else {
        error(
          node, "unknown access level '\(text)'; the levels are internal, package and public",
          suggestion: closestName(to: text, in: LoadedModel.accessLevels))
      }
    }
    result.listsKeyPaths = reader.bool("keyPaths") ?? false
    result.isObservable = reader.bool("observable") ?? false
    if let text = reader.text("snapshots"), let node = reader.node("snapshots") {
      let values = ["true", "false", "nested"]
      if !values.contains(text) {
        error(
          node, "'snapshots' is true, false or nested, not '\(text)'",
          suggestion: LiteralDecoder.likelyBool(text) ?? closestName(to: text, in: values))
      }
      result.hasSnapshots = text == "true" || text == "nested"
      result.nestsSnapshots = text == "nested"
    }
    var seen: Set<String> = []
    for node in reader.list("imports", of: "modules' names") ?? [] {
      guard let name = text(of: node, as: "a module's name") else { continue }
      if !NameRules.isDottedIdentifier(name) {
        error(node, "'\(name)' is not a valid name of a module")
      } else if !seen.insert(name).inserted {
        error(node, "module '\(name)' is repeated here")
      } else {
        result.imports.append(name)
      }
    }
    return result
  }
}
