import CDRuntime
import Foundation

let container = try PersistentContainer(for: PlantsModel.self, at: URL(filePath: "Plants.sqlite"))
let context = container.viewContext

let kitchen = Room(name: "Kitchen", in: context)
let basil = Plant(name: "Basil", in: context)
basil.height = "20"
basil.room = kitchen
try context.save()

print("\(kitchen.name): \(kitchen.plants.map(\.name))")
