import CDGenerator
import CDModel
import CDSchema

/// Any bytes must be a model or be refused with diagnostics whose positions are in the file. For a model without
/// errors, canonical JSON and Swift can be generated.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSchema(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: start == nil ? 0 : count))
  let loaded = ModelLoader.load(
    name: "Fuzz",
    files: ["model.yaml": Array("id: 6B1F0C5E-4E2A-4B0B-8E52-0B6F2F0D7A11\n".utf8), "1.yaml": bytes])
  for diagnostic in loaded.diagnostics { _ = diagnostic.description }
  guard let model = loaded.model else { return 0 }
  _ = model.canonicalJSON
  _ = try? Generator(options: .init()).generate(model)
  return 0
}
