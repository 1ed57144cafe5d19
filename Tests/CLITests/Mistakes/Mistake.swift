import CDRuntime
import CDSchema
import Foundation
import Testing

/// A mistake that people make, and the parts of the message that it must have.
struct Mistake: Sendable, CustomTestStringConvertible {
  /// The mistake in a few words.
  let name: String
  /// How the mistake is made.
  let act: Act
  /// Where the mistake is: a position, or an entity and a property.
  let place: String
  /// What is wrong: the wrong word, or the broken rule.
  let cause: String
  /// What to do.
  let remedy: String

  enum Act: Sendable {
    /// A wrong text in the file of the first version, in place of the right one.
    case schema(_ wrong: String, insteadOf: String)
    /// A second version, its mapping, or the lock: a folder is prepared, and then the model is checked.
    case model(@Sendable (TemporaryFolder) throws -> Void)
    /// A condition for plants.
    case condition(String)
    /// A call of the library.
    case call(@Sendable (ManagedObjectContext) throws -> Void)
    /// A command line, in a folder with the model and a store of it.
    case command(BuiltTool, [String])
    /// A file for `cdstore load`.
    case data(String)
  }

  var testDescription: String { name }

  init(_ name: String, _ act: Act, place: String, cause: String, remedy: String) {
    self.name = name
    self.act = act
    self.place = place
    self.cause = cause
    self.remedy = remedy
  }
}

extension Mistake {
  static let version = """
    entities:
      Plant:
        attributes:
          name: String
          height: Double?
          days: { type: Int32, default: 7, min: 1, max: 60 }
          light: { type: Light, default: sun }
          note: String?
        relationships:
          room: { to: "Room?", inverse: plants }
        fetches:
          tall: { where: height > 100, sort: [name] }
      Room:
        attributes: { name: String }
        unique: [[name]]
        relationships:
          plants: { to: [Plant], inverse: room, onDelete: deny }
    enums:
      Light: { type: Int16, cases: { shade: 0, sun: 1 } }

    """

  /// Makes the folder `P.cdmodel`.
  static func makeModel(_ version: String = version, in folder: TemporaryFolder) throws {
    try SampleModel.make("P", in: folder, version: version)
  }

  /// Makes the model's second version from the first one, which is locked.
  static func makeSecondVersion(
    _ wrong: String, insteadOf right: String, mapping: String? = nil, in folder: TemporaryFolder
  ) throws {
    try makeModel(in: folder)
    _ = try BuiltTool.cdgen.run("lock", "P.cdmodel", in: folder.url)
    try folder.write(version.replacing(right, with: wrong), to: "P.cdmodel/2.yaml")
    if let mapping { try folder.write(mapping, to: "P.cdmodel/1-2.mapping.yaml") }
  }

  /// The messages that the mistake leads to, as a person sees them.
  func messages() throws -> [String] {
    let folder = try TemporaryFolder()
    switch act {
    case .schema(let wrong, let right):
      guard Self.version.ranges(of: right).count == 1 else { return ["'\(right)' is not there once"] }
      try Self.makeModel(Self.version.replacing(right, with: wrong), in: folder)
      return try lines(BuiltTool.cdgen.run("check", "P.cdmodel", in: folder.url))
    case .model(let prepare):
      try prepare(folder)
      return try lines(BuiltTool.cdgen.run("check", "P.cdmodel", in: folder.url))
    case .condition(let text):
      try Self.makeStore(in: folder)
      let fetch = ["fetch", "p.sqlite", "Plant", "--where", text]
      return try lines(BuiltTool.cdstore.run(fetch, in: folder.url))
    case .command(let tool, let arguments):
      try Self.makeStore(in: folder)
      return try lines(tool.run(arguments, in: folder.url))
    case .data(let text):
      try Self.makeStore(in: folder)
      try folder.write(text, to: "plants.json")
      return try lines(BuiltTool.cdstore.run("load", "p.sqlite", "plants.json", in: folder.url))
    case .call(let body):
      let files = ["model.yaml": SampleModel.head, "1.yaml": Self.version].mapValues { Array($0.utf8) }
      guard let model = ModelLoader.load(name: "P", files: files).model else { return ["no model"] }
      let context = try PersistentContainer(inMemoryModel: model).newContext()
      do {
        try body(context)
        return []
      } catch {
        return "\(error)".split(separator: "\n").map(String.init)
      }
    }
  }

  private static func makeStore(in folder: TemporaryFolder) throws {
    try makeModel(in: folder)
    _ = try BuiltTool.cdstore.run("create", "p.sqlite", "--model", "P.cdmodel", in: folder.url)
  }

  /// The lines of a message, without the hints of usage and the counts that follow them.
  private func lines(_ result: BuiltTool.Result) -> [String] {
    guard result.status != 0 || result.errors.contains("warning: ") else { return [] }
    return result.errors.split(separator: "\n").map(String.init).filter {
      !$0.hasPrefix("Usage: ") && !$0.hasPrefix("Help: ") && !$0.hasPrefix("  See ")
    }
  }
}
