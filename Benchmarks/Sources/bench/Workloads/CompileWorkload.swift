import CDGenerator
import CDModel
import Foundation

/// The time to compile generated Swift: CPU milliseconds per entity, as a whole module in a separate compiler process.
/// The time for an empty module is subtracted.
struct CompileWorkload: Workload {
  let name = "compile"
  let summary = "Compiles generated Swift, optimised and not, internal and public."

  private static let variants: [(access: AccessLevel, isOptimized: Bool, goal: Double)] = [
    (.internal, true, 150), (.internal, false, 80), (.public, true, 250), (.public, false, 100),
  ]

  func run(_ settings: Settings) throws -> [Figure] {
    let size = settings.isSmoke ? 2 : 30
    let compiler = try SwiftCompiler(modules: settings.modules)
    defer { compiler.removeFiles() }
    let model = SampleModel.make(entities: size)
    let empty = try compiler.write("import CDRuntime\nimport Foundation\n", as: "Empty.swift")
    var contenders: [Contender] = []
    for isOptimized in [true, false] {
      contenders.append(
        Contender(name: "empty \(Self.mode(isOptimized))") {
          try compiler.compile(empty, isOptimized: isOptimized)
        })
    }
    for variant in Self.variants {
      let files = try Generator(options: .init(access: variant.access)).generate(model)
      let source = try compiler.write(
        files.map(\.contents).joined(),
        as: "\(variant.access.rawValue)-\(Self.mode(variant.isOptimized)).swift")
      contenders.append(
        Contender(name: "\(variant.access.rawValue) \(Self.mode(variant.isOptimized))") {
          try compiler.compile(source, isOptimized: variant.isOptimized)
        })
    }
    let rounds = try Rounds(contenders, count: settings.rounds ?? 3)
    return Self.variants.map { variant in
      let mode = Self.mode(variant.isOptimized)
      let seconds = rounds.difference("\(variant.access.rawValue) \(mode)", "empty \(mode)")
      return Figure(
        name, "\(variant.access.rawValue) \(mode), an entity", milliseconds: seconds / Double(size) * 1000,
        rounds: rounds.count, goal: settings.isSmoke ? nil : variant.goal)
    }
  }

  private static func mode(_ isOptimized: Bool) -> String { isOptimized ? "-O" : "debug" }
}
