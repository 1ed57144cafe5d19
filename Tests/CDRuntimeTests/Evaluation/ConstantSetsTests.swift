import CDModel
import Testing

@testable import CDRuntime

/// The constants of conditions, which are evaluated for many objects.
@Suite struct ConstantSetsTests {
  @Test(.onceForAllKinds) func aListIsNamedOnce() throws {
    let container = try PersistentContainer(scratchOf: [
      EntityDescription(name: "A"), EntityDescription(name: "B", parent: "A"),
    ])
    let context = container.newContext()
    let id = try context.insert(entityNamed: "B").objectID
    let sets = ConstantSets(variables: ["x": EvaluationValue(id.expressionConstant)], model: context.model)

    let list = ExpressionConstant.array([id.expressionConstant, .value(.int(1))])
    let (first, second) = (sets.value(list), sets.value(list))
    guard case .collection(let elements) = first, case .collection(let others) = second else {
      Issue.record("a list is a collection")
      return
    }
    // Both are the same array. The first one is still there, so that no other can have its address.
    let address = elements.withUnsafeBytes { $0.baseAddress }
    #expect(others.withUnsafeBytes { $0.baseAddress } == address)

    let named: [EvaluationValue?] = [
      elements.first, sets.value(id.expressionConstant), sets.variables["x"],
    ]
    for value in named {
      guard case .reference(let reference)? = value else {
        Issue.record("an object is a reference")
        continue
      }
      #expect(reference.entity == "A")
    }
  }
}
