extension Emitter {
  mutating func initializers(_ declaration: ClassDeclaration) {
    let initializers = declaration.initializers
    out.blank()
    if !declaration.isAbstract {
      let parameters = initializers.parameters
      if !parameters.isEmpty {
        let list = parameters.map { $0.name + ": " + $0.type + ", " }.joined()
        open(
          list, initializers.contextName, isOverride: initializers.overridesFull, isComplete: true,
          of: declaration)
        for parameter in initializers.inherited { out.line("self.", parameter.name, " = ", parameter.name) }
        for parameter in initializers.own { out.line(parameter.assignment) }
        out.close()
      }
      open("", "context", isOverride: initializers.overridesEmpty, isComplete: false, of: declaration)
      out.close()
    }
    out.line(spi, "override init(_seed: CDRuntime.ObjectSeed) { super.init(_seed: _seed) }")
    out.blank()
    out.line(access, "override class var entityName: Swift.String { ", declaration.entity, " }")
  }

  /// What making an object of an abstract entity meets: a message of its own. In the class itself it would get into
  /// the way of overriding initialisers two levels below.
  mutating func abstractInitializer(_ declaration: ClassDeclaration) {
    let message = SwiftLiteral.string(
      "\(declaration.plainName) is abstract: make an object of an entity that inherits from it")
    out.blank()
    out.open("nonisolated extension CDRuntime.EntityClass where Self: ", declaration.typeName)
    out.line("@available(*, unavailable, message: ", message, ")")
    out.line(access, "init(in context: CDRuntime.ManagedObjectContext) { Swift.fatalError() }")
    out.close()
  }

  private mutating func open(
    _ parameters: String, _ context: String, isOverride: Bool, isComplete: Bool,
    of declaration: ClassDeclaration
  ) {
    let label = context == "context" ? "in context" : "in " + context
    out.open(
      access, isOverride ? "override " : "", "init(", parameters, label, ": CDRuntime.ManagedObjectContext)")
    out.line(
      "super.init(_seed: CDRuntime.ObjectSeed(inserting: ", declaration.entity, ", in: ", context,
      isComplete ? ", isComplete: true))" : "))")
  }
}
