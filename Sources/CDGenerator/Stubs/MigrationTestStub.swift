import CDMapping
public import CDModel
import CDTooling

/// Tests of the migrations to a version of a model, written with Swift Testing and CDMigrationTesting.
///
/// There is one test for each version that stores may have. If all steps are automatic or mapped, the tests compile and
/// pass at once. If the app's own code creates objects, an `#error` asks for their expected values.
///
/// ```swift
/// print(MigrationTestStub(model, from: [1, 2], to: 3, module: "App").text)
/// ```
public struct MigrationTestStub: Sendable {
  /// The Swift file.
  public let text: String

  /// - Parameters:
  ///   - model: The model with all versions.
  ///   - sources: The numbers of the versions of existing stores.
  ///   - destination: The number of the version to migrate to.
  ///   - typeName: The name of the type that implements the model's `Migrations`.
  ///   - module: The module with the generated code; nil if the tests' own module contains it.
  /// - Throws: ``GenerationError`` with the problems that prevent the generation of Swift.
  public init(
    _ model: ManagedObjectModel, from sources: [Int], to destination: Int, typeName: String? = nil,
    module: String? = nil
  ) throws(GenerationError) {
    var resolver = MigrationResolver(model)
    let declaration = resolver.declaration()
    guard resolver.problems.isEmpty else { throw GenerationError(problems: resolver.problems) }
    let modelTypeName = ManagedObjectModel.typeName(ofModel: model.name)
    let name = typeName.map(SwiftName.escaped) ?? MigrationStub.typeName(of: model)
    let migrations = declaration == nil ? "" : ", migrations: { \(name)() }"
    let paths = VersionPaths(model)
    var out = SourceWriter(capacity: 4096)
    out.line("// Tests of the migrations of \(model.name) to version \(destination).")
    out.line("//")
    out.line("// 'cdgen stub --tests' has written the beginning of this file, and never changes it again.")
    out.line("import CDMigrationTesting")
    out.line("import CDRuntime")
    out.line("import Foundation")
    out.line("import Testing")
    if let module {
      out.blank()
      out.line("@testable import ", module)
    }
    out.blank()
    out.open("@Suite struct ", SwiftName.capitalized(model.name), "MigrationTests")
    for (place, source) in sources.enumerated() {
      if place > 0 { out.blank() }
      let path = paths.path(from: source, to: destination) ?? []
      let pairs = Set(zip(path, path.dropFirst()).map { [$0, $1] })
      let steps = declaration?.steps.filter { pairs.contains([$0.source, $0.destination]) } ?? []
      out.open("@Test func version\(source)BecomesVersion\(destination)() throws")
      let arguments = "of: \(modelTypeName).self, version: \(source)\(migrations)"
      if migrations.isEmpty {
        out.line("let old = try VersionedStore(", arguments, ")")
      } else {
        out.line("let old = try VersionedStore(")
        out.line("  ", arguments, ")")
      }
      out.line(
        "// Inserts an object of each entity, with a value for every attribute. Add objects that matter to your app:"
      )
      out.line("// try old.insert(\"…\", [\"…\": …])")
      out.line("try old.insertSamples()")
      out.line("let new = try old.migrated(to: \(destination))")
      out.line("// Compares, object by object, the values that rules and inference leave unchanged.")
      out.line("#expect(try new.differences(from: old) == [])")
      for step in steps {
        for mapping in step.mappings {
          let entity = mapping.mapping.destination ?? ""
          out.line(
            "#error(",
            SwiftLiteral.string(
              "\(entity): '\(mapping.make)' creates these objects. Check the values of "
                + "'try new.objects(of: \"\(entity)\")'"), ")")
        }
      }
      out.close()
    }
    out.close()
    text = out.text
  }
}
